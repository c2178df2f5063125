// The report: decodes the data, and shows the view that the URL's fragment names.
import { themeButton } from "./chrome.js";
import { readBlock } from "./codec.js";
import { comparison } from "./comparison.js";
import { CompareView } from "./compareview.js";
import { h } from "./dom.js";
import { readFrames } from "./frames.js";
import { overview } from "./overview.js";
import { GraphPanel } from "./panel.js";
import { listScopes } from "./scopes.js";
import { StageView } from "./stageview.js";
import { PageState } from "./state.js";
import { Store } from "./store.js";
import { treeFromPops } from "./tree.js";

const VIEW_KEYS = ["view", "scope", "event", "m", "st", "task", "t", "a", "b", "sort", "all"];

class Report {
  constructor(root, doc) {
    this.doc = doc;
    this.scopes = listScopes(doc);
    this.body = h("main");
    this.tabs = h("nav", { class: "tabs", "aria-label": "Views" });
    const { run } = doc;
    const about = [run.app_id, run.spark_version && `Spark ${run.spark_version}`, run.master].filter(Boolean).join(" · ");
    root.append(h("header", { class: "top" }, h("h1", { title: doc.title }, doc.title), h("p", { class: "quiet about" }, about), h("span", { class: "grow" }), this.tabs, themeButton()), this.body);
    this.store = null;
    this.pageState = new PageState(() => this.render());
    document.addEventListener("themechange", () => this.render());
  }

  get state() {
    return this.pageState.values;
  }

  /** The graphs' data; the first view needs none of it. */
  async load() {
    const { doc } = this;
    const [frames, tree, rows, tasks] = await Promise.all([readFrames(doc), ...["tree", "rows", "tasks"].map((id) => readBlock(id, doc.blocks[id]))]);
    this.tasks = tasks;
    this.store = new Store(rows, treeFromPops(tree.pops, tree.frame));
    this.panel = new GraphPanel({
      frames,
      categories: doc.categories,
      height: () => Math.max(300, Math.min(720, window.innerHeight - 230)),
      onState: (values, push) => this.pageState.write({ ...this.viewState(), ...values }, push),
    });
    this.stageView = new StageView(this);
    this.compareView = new CompareView(this);
  }

  viewState() {
    return Object.fromEntries(Object.entries(this.state).filter(([key]) => VIEW_KEYS.includes(key)));
  }

  go(values, push = false) {
    this.pageState.write(values, push);
    this.render();
  }

  /** The view of a scope, without what was set for another graph. */
  open(scope, more = {}) {
    this.go({ view: "stage", scope, event: this.state.event ?? "", ...more }, true);
    window.scrollTo(0, 0);
  }

  compare(a, b) {
    this.go({ view: "compare", a, b, event: this.state.event ?? "" }, true);
    window.scrollTo(0, 0);
  }

  link(action) {
    return (event) => {
      event.preventDefault();
      action();
    };
  }

  render() {
    const view = this.state.view ?? "overview";
    const tab = (key, text, act) => h("a", { href: "#", class: "tab", "aria-current": view === key ? "page" : null, onclick: this.link(act) }, text);
    const scope = this.state.scope ?? "all";
    this.tabs.replaceChildren(
      tab("overview", "Overview", () => this.go({ event: this.state.event ?? "" }, true)),
      tab("stage", "Graphs", () => this.open(scope)),
      tab("compare", "Compare", () => (this.doc.comparison ? this.compare("run:0||", "run:1||") : this.compare(`${scope}|cpu|`, `${scope}|wall|`))),
    );
    if (view === "overview" || !this.store) {
      this.body.replaceChildren(this.doc.comparison ? comparison(this) : overview(this));
      return;
    }
    const shown = view === "compare" ? this.compareView : this.stageView;
    if (this.body.firstChild !== shown.element) this.body.replaceChildren(shown.element);
    shown.show();
  }
}

export async function showReport(root, doc) {
  const report = new Report(root, doc);
  report.render();
  await report.load();
  if ((report.state.view ?? "overview") !== "overview") report.render();
}
