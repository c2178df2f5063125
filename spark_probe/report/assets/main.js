// The page's entry: reads the document, decodes its data and shows what it is.
import { readDocument } from "./codec.js";
import { h } from "./dom.js";
import { showFlamegraph } from "./flamepage.js";
import { showReport } from "./report.js";

async function start() {
  const root = document.getElementById("page");
  try {
    const doc = await readDocument();
    if (doc.kind === "flamegraph") await showFlamegraph(root, doc);
    else await showReport(root, doc);
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  } catch (error) {
    const old = typeof DecompressionStream === "undefined";
    root.append(
      h("p", { class: "failure", role: "alert" }, old ? "This browser is too old for the page: it needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4 or later)." : `The page could not be shown: ${error.message}`),
    );
    throw error;
  }
}

start();
