// Two selections against each other: shares of each side's own total, and what grew.
import { h, replace, segmented, select } from "./dom.js";
import { formatValue } from "./format.js";
import { selectionOf } from "./stageview.js";
import { splitTasks, tasksOf } from "./tasks.js";
import { prune } from "./tree.js";

const SUBSETS = [
  ["", "all tasks"],
  ["slow", "stragglers"],
  ["typical", "typical tasks"],
];
const RECORDINGS = [
  ["base", "base recording"],
  ["burst", "bursts"],
];

/** "scope|event|subset" <-> parts; a scope's name may hold bars of its own. */
export function parseSide(text) {
  const parts = (text || "all||").split("|");
  const subset = parts.pop();
  const event = parts.pop();
  return { scope: parts.join("|") || "all", event, subset };
}

export const formatSide = ({ scope, event, subset }) => `${scope}|${event}|${subset}`;

export class CompareView {
  constructor(page) {
    this.page = page;
    this.head = h("div");
    this.element = h("div", { class: "compare-view" }, h("section", { class: "card" }, this.head), h("div", { class: "slot" }));
  }

  side(state, key) {
    const parsed = parseSide(state[key]);
    const chosen = selectionOf(this.page, { scope: parsed.scope, event: parsed.event });
    const event = chosen.event?.key ?? "";
    const rows = { ...chosen.rows };
    let count = null;
    if (parsed.subset === "base" || parsed.subset === "burst") rows.burst = parsed.subset === "burst" ? 1 : 0;
    else if (parsed.subset) {
      const { stragglers, typical } = splitTasks(this.page.tasks, tasksOf(this.page.tasks, chosen.scope.stages));
      const members = parsed.subset === "slow" ? stragglers : typical;
      count = members.length;
      rows.tasks = new Set(members);
    }
    const self = this.page.store.weights(rows, chosen.measure);
    return { ...parsed, chosen, event, count, self, total: self.reduce((a, b) => a + b, 0) };
  }

  show() {
    const { page } = this;
    const { state } = page;
    const sides = [this.side(state, "a"), this.side(state, "b")];
    const names = this.names(sides);
    const change = (key, side, changes) => page.go({ ...state, [key]: formatSide({ scope: side.scope, event: side.event, subset: side.subset, ...changes }), z: "" }, true);
    const controls = (key, side, letter) =>
      h(
        "div",
        { class: "toolbar" },
        h("b", { class: "side" }, letter),
        select(`Scope of ${letter}`, page.scopes.map((scope) => [scope.key, scope.label]), side.chosen.scope.key, (scope) => change(key, side, { scope })),
        segmented(`Event of ${letter}`, side.chosen.offered.map((event) => [event.key, event.key]), side.event, (event) => change(key, side, { event })),
        select(`Tasks of ${letter}`, page.doc.bursts ? [...SUBSETS, ...RECORDINGS] : SUBSETS, side.subset, (subset) => change(key, side, { subset })),
        h("span", { class: "quiet", "data-side": letter, "data-total": side.total }, `${formatValue(side.total, side.chosen.unit)}${side.count === null ? "" : ` in ${side.count} tasks`}`),
      );
    const here = sides[1].chosen.scope;
    const has = (event) => here.stages.length && page.store.eventsOf(here.stages).has(page.doc.event_names.indexOf(event));
    const preset = (text, title, a, b) => h("button", { type: "button", title, onclick: () => page.compare(a, b) }, text);
    const event = sides[1].event;
    replace(
      this.head,
      h(
        "div",
        { class: "toolbar" },
        h("h2", {}, "Compare"),
        has("cpu") && has("wall") ? preset("cpu with wall", "What it waits for: wall time against CPU time", `${here.key}|cpu|`, `${here.key}|wall|`) : null,
        preset("typical tasks with stragglers", "What the slow tasks do that the others do not", `${here.key}|${event}|typical`, `${here.key}|${event}|slow`),
        page.doc.bursts ? preset("base with burst", "What a burst recording saw against the base recording", `${here.key}|${event}|base`, `${here.key}|${event}|burst`) : null,
        preset("swap", "The other way round", state.b ?? "", state.a ?? ""),
      ),
      controls("a", sides[0], "A"),
      controls("b", sides[1], "B"),
      h("p", { class: "quiet" }, "Shares of each side's own total are compared. Red: more of B than of A; blue: less. Widths are B's; turn them to A's to see what is gone in B."),
    );
    this.element.querySelector(".slot").replaceChildren(page.panel.element);
    page.panel.show(
      {
        graph: prune(page.store.tree, sides.map((side) => side.self)),
        units: sides.map((side) => side.chosen.unit),
        whole: sides.map((side) => side.total),
        name: `${names[0]} → ${names[1]}`,
        compare: { names },
      },
      state,
    );
  }

  names(sides) {
    const subset = { "": "", slow: "stragglers", typical: "typical", base: "base", burst: "burst" };
    const [a, b] = sides;
    const runs = this.page.doc.comparison && a.event === b.event && a.subset === b.subset;
    if (runs) return ["A", "B"];
    const words = (side, other) => {
      const parts = [];
      if (side.chosen.scope.key !== other.chosen.scope.key) parts.push(side.chosen.scope.label.split(" · ")[0]);
      if (side.event !== other.event) parts.push(side.event);
      if (side.subset !== other.subset) parts.push(subset[side.subset] || "all");
      return parts.join(" ");
    };
    const names = [words(a, b) || "A", words(b, a) || "B"];
    return names[0] === names[1] ? ["A", "B"] : names;
  }
}
