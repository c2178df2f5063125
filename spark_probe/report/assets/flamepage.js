// A page with one flame graph.
import { readBlock } from "./codec.js";
import { h } from "./dom.js";
import { formatValue } from "./format.js";
import { readFrames } from "./frames.js";
import { themeButton } from "./chrome.js";
import { GraphPanel } from "./panel.js";
import { PageState } from "./state.js";
import { prune, treeFromPops } from "./tree.js";

export async function showFlamegraph(root, doc) {
  const [frames, tree] = await Promise.all([readFrames(doc), readBlock("tree", doc.blocks.tree)]);
  const graph = prune(treeFromPops(tree.pops, tree.frame), [Float64Array.from(tree.self)]);
  const total = graph.totals[0][0];
  let state = null;
  const panel = new GraphPanel({
    frames,
    categories: doc.categories,
    height: () => Math.max(240, window.innerHeight - panel.graphs.getBoundingClientRect().top - window.scrollY - 130),
    onState: (values, push) => state.write(values, push),
  });
  root.append(
    h(
      "header",
      { class: "top" },
      h("h1", {}, doc.title),
      doc.subtitle ? h("p", { class: "quiet" }, doc.subtitle) : null,
      h("span", { class: "grow" }),
      h("span", { class: "fact", "data-total": total }, `${doc.event ? `${doc.event} · ` : ""}${formatValue(total, doc.unit)}`),
      themeButton(),
    ),
    h("main", {}, panel.element),
  );
  const show = () => panel.show({ graph, units: [doc.unit], whole: [total], name: doc.title, compare: null }, state.values);
  state = new PageState(show);
  show();
}
