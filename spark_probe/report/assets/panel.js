// The flame-graph panel: toolbar, search, filters, breadcrumb, canvases, details and hottest frames.
import { nodeCategories } from "./categories.js";
import { copyText, debounce, download, h, replace, segmented, select } from "./dom.js";
import { FlameCanvas } from "./flame.js";
import { formatPercent, formatValue, shortName } from "./format.js";
import { HotTable } from "./hot.js";
import { legendItems } from "./legend.js";
import { diffColour, framePainter, isDark, typeText } from "./palette.js";
import { matchFrames, matcher } from "./search.js";
import { EXCLUDE, FOCUS, HIDE, INCLUDE, derive, folded, matchedTotal, pathKeys, pathTo, reverse } from "./tree.js";

const DEFAULTS = { mode: "icicle", view: "down", rec: "", colour: "category", q: "", re: "", inc: "", exc: "", hide: "", focus: "", frame: "", z: "", side: "" };
const CRUMBS = 7;

export class GraphPanel {
  /** options: {frames, categories: [[key, label]], onState(state, push), height()} */
  constructor(options) {
    this.options = options;
    this.frames = options.frames;
    this.ids = new Map(this.frames.names.map((name, id) => [name, id]));
    this.categoryKeys = options.categories.map(([key]) => key);
    this.state = { ...DEFAULTS };
    this.back = [];
    this.matched = null;
    this.hot = new HotTable({ onPick: (frame) => this.pick(frame) });
    this.main = this.canvas(() => this.options.height());
    this.callers = this.canvas(() => this.options.height() / 2);
    this.build();
    document.addEventListener("themechange", () => this.repaint());
  }

  canvas(maxHeight) {
    const flame = new FlameCanvas({
      label: "Flame graph. Arrow keys move between frames, Enter zooms in, Escape goes back.",
      names: this.frames.names,
      maxHeight,
      paint: (node, frame) => flame.paint(node, frame),
      describe: (node) => this.describe(flame, node, "tip-body"),
      matched: () => this.matched,
      rootName: () => this.rootName(flame),
      onZoom: (node) => this.zoom(flame, node),
      onBack: () => this.goBack(),
      onCurrent: (node) => this.showDetails(flame, node),
    });
    return flame;
  }

  build() {
    const set = (key) => (value) => this.change({ [key]: value }, true);
    const typed = (key) => debounce((event) => this.change({ [key]: event.target.value }), 150);
    this.controls = {
      mode: segmented("Direction", [["icicle", "Icicle", "Callers above"], ["flame", "Flame", "Callers below"]], "icicle", set("mode")),
      view: segmented(
        "View",
        [["down", "Top-down"], ["up", "Callers", "Innermost frames first: who calls them"], ["sandwich", "Sandwich", "Callers and callees of one frame"]],
        "down",
        set("view"),
      ),
      colour: select("Colours", [["category", "by category"], ["type", "by frame type"], ["package", "by package"]], "category", set("colour")),
      side: segmented("Width", [["", ""], ["a", ""]], "", set("side")),
      rec: h("input", { type: "checkbox", onchange: (event) => this.change({ rec: event.target.checked ? "1" : "" }, true) }),
      q: h("input", { type: "search", placeholder: "Search frames", "aria-label": "Search frames", class: "search", oninput: typed("q") }),
      re: h("input", { type: "checkbox", onchange: (event) => this.change({ re: event.target.checked ? "1" : "" }) }),
      inc: h("input", { type: "text", class: "pattern", "aria-label": "Include stacks with a frame that matches", placeholder: "regular expression", oninput: typed("inc") }),
      exc: h("input", { type: "text", class: "pattern", "aria-label": "Exclude stacks with a frame that matches", placeholder: "regular expression", oninput: typed("exc") }),
    };
    const c = this.controls;
    this.result = h("output", { class: "matched", "aria-live": "polite" });
    this.problem = h("span", { class: "problem", role: "alert" });
    this.chips = h("div", { class: "chips" });
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom path" });
    this.legend = h("div", { class: "legend" });
    this.details = h("div", { class: "details", "aria-live": "polite" });
    this.backButton = h("button", { type: "button", class: "back", onclick: () => this.goBack() }, "← Back");
    this.callersTitle = h("h4", {}, "Callers");
    this.calleesTitle = h("h4", {}, "Callees");
    this.filters = h(
      "details",
      { class: "filters" },
      h("summary", {}, "Filter"),
      h("div", { class: "filter-row" }, h("label", {}, "only stacks with ", c.inc), h("label", {}, "without ", c.exc)),
    );
    this.graphs = h("div", { class: "graphs" }, this.callersTitle, this.callers.element, this.calleesTitle, this.main.element);
    this.empty = h("p", { class: "empty", hidden: true }, "No samples here.");
    this.element = h(
      "section",
      { class: "panel", "aria-label": "Flame graph" },
      h(
        "div",
        { class: "toolbar" },
        c.view,
        c.mode,
        c.side,
        h("label", { class: "check", title: "A frame that calls itself is merged into its outermost call" }, c.rec, "merge recursion"),
        c.colour,
        h("span", { class: "grow" }),
        c.q,
        h("label", { class: "check", title: "Search by regular expression" }, c.re, ".*"),
        h("button", { type: "button", class: "export", title: "Folded stacks of what is shown", onclick: () => this.export() }, "Export folded"),
      ),
      h("div", { class: "toolbar second" }, this.backButton, this.crumbs, this.chips, h("span", { class: "grow" }), this.result, this.problem, this.filters),
      this.empty,
      h("div", { class: "split" }, h("div", { class: "left" }, this.graphs, this.details, this.legend), this.hot.element),
    );
  }

  /**
   * What to show: {graph, units, whole: [total of the stage], name, compare}, lists one a weight.
   * compare: {names: [a, b]} with two weights, widths by b unless turned round.
   */
  show(input, state = {}) {
    this.input = input;
    this.back = [];
    this.state = { ...DEFAULTS, ...Object.fromEntries(Object.entries(state).filter(([key]) => key in DEFAULTS)) };
    this.render();
  }

  change(changes, push = false) {
    this.state = { ...this.state, ...changes };
    this.render(changes);
    this.options.onState(this.shownState(), push);
  }

  shownState() {
    return Object.fromEntries(Object.entries(this.state).filter(([key, value]) => value !== DEFAULTS[key]));
  }

  weight() {
    return this.input.compare && this.state.side !== "a" ? 1 : 0;
  }

  flags() {
    const { state, frames } = this;
    const flags = new Uint8Array(frames.names.length);
    const mark = (matches, bit) => {
      if (matches) frames.names.forEach((name, id) => (flags[id] |= matches(name) ? bit : 0));
    };
    this.problem.textContent = "";
    for (const [key, bit] of [["inc", INCLUDE], ["exc", EXCLUDE]]) {
      try {
        mark(matcher(state[key], true), bit);
      } catch (error) {
        this.problem.textContent = error.message;
      }
    }
    const hidden = new Set(state.hide ? state.hide.split("\n") : []);
    if (hidden.size) mark((name) => hidden.has(name), HIDE);
    if (state.focus) mark((name) => name === state.focus, FOCUS);
    return flags;
  }

  /** Base graph -> the filtered graph; kept while the filters stay. */
  filtered() {
    const { state, input } = this;
    const key = JSON.stringify([state.inc, state.exc, state.hide, state.focus, state.rec]);
    if (this.cacheKey === key && this.cacheGraph === input.graph) return this.cache;
    const flags = this.flags();
    const any = flags.some((bits) => bits !== 0) || state.rec;
    this.cache = any
      ? derive(input.graph, flags, { focus: Boolean(state.focus), include: Boolean(state.inc) && !this.problem.textContent, recursion: Boolean(state.rec) })
      : input.graph;
    this.cacheKey = key;
    this.cacheGraph = input.graph;
    return this.cache;
  }

  render(changes = null) {
    const { state } = this;
    this.syncControls();
    this.search();
    if (changes && Object.keys(changes).every((key) => key === "q" || key === "re")) {
      this.hot.update(this.hotInput());
      this.repaint();
      return;
    }
    const graph = this.filtered();
    this.empty.hidden = graph.n > 1;
    this.graphs.hidden = graph.n <= 1;
    const inverted = state.mode === "flame";
    const sandwich = state.view === "sandwich" && this.ids.has(state.frame);
    for (const element of [this.callers.element, this.callersTitle, this.calleesTitle]) element.hidden = !sandwich;
    const weight = this.weight();
    if (sandwich) {
      const frame = this.ids.get(state.frame);
      const flags = new Uint8Array(this.frames.names.length);
      flags[frame] = FOCUS;
      this.callersGraph = reverse(graph, frame);
      this.shown = derive(graph, flags, { focus: true });
      this.prepare(this.callers, this.callersGraph);
      this.callers.show(this.callersGraph, { weight, inverted: true, trunk: false });
    } else this.shown = state.view === "up" ? reverse(graph) : graph;
    this.prepare(this.main, this.shown);
    this.keys = pathKeys(this.shown);
    this.main.show(this.shown, { weight, zoomed: this.nodeOf(state.z), inverted: sandwich ? false : inverted, trunk: state.view === "down" });
    this.hot.update(this.hotInput());
    this.search();
    this.showPath();
    this.showDetails(this.main, -1);
    this.showLegend();
  }

  hotInput() {
    const { input } = this;
    return { graph: this.filtered(), frames: this.frames, unit: input.units[0], whole: input.whole, compare: input.compare, matched: this.state.q ? this.matched : null };
  }

  /** Painter and categories of a canvas for its graph. */
  prepare(flame, graph) {
    const leafFirst = this.state.view === "up" || flame === this.callers;
    const category = nodeCategories(graph, this.frames.categories, this.categoryKeys.indexOf("other"), leafFirst);
    flame.categoryOf = (node) => category[node];
    this.repaintOf(flame, graph);
  }

  repaintOf(flame, graph) {
    const dark = isDark();
    const { input } = this;
    if (input.compare) {
      const [a, b] = graph.totals;
      const [wholeA, wholeB] = input.whole;
      flame.paint = (node) => diffColour(wholeA ? a[node] / wholeA : 0, wholeB ? b[node] / wholeB : 0, dark);
    } else flame.paint = framePainter(this.state.colour, this.frames, dark, this.categoryKeys, flame.categoryOf);
  }

  repaint() {
    if (!this.shown) return;
    this.repaintOf(this.main, this.shown);
    this.main.draw();
    if (!this.callers.element.hidden) {
      this.repaintOf(this.callers, this.callersGraph);
      this.callers.draw();
    }
    this.showLegend();
  }

  search() {
    const { state } = this;
    this.matched = null;
    this.result.textContent = "";
    if (!state.q) return;
    try {
      this.matched = matchFrames(this.frames.names, matcher(state.q, Boolean(state.re)));
    } catch (error) {
      this.result.textContent = error.message;
      return;
    }
    if (!this.shown) return;
    const weight = this.weight();
    const from = this.main.zoomed;
    // Of the whole view the filtered graph knows the sum, whichever way round it is drawn.
    const sum = matchedTotal(from || state.view === "sandwich" ? this.shown : this.filtered(), this.matched, from, weight);
    const view = this.shown.totals[weight][from];
    this.result.textContent = `matched ${formatValue(sum, this.input.units[weight])} · ${formatPercent(sum, view)} of view`;
    this.result.dataset.value = sum;
  }

  nodeOf(key) {
    if (!key) return 0;
    const wanted = Number.parseInt(key, 36);
    for (let i = 1; i < this.keys.length; i++) if (this.keys[i] === wanted) return i;
    return 0;
  }

  zoom(flame, node) {
    if (flame !== this.main) {
      if (node > 0) this.change({ frame: this.frames.names[flame.graph.frame[node]], z: "" }, true);
      return;
    }
    if (node === this.main.zoomed) return;
    this.back.push(this.state.z);
    this.state = { ...this.state, z: node ? this.keys[node].toString(36) : "" };
    this.applyZoom(node);
    this.options.onState(this.shownState(), true);
  }

  applyZoom(node) {
    this.main.zoom(node);
    this.search();
    this.showPath();
  }

  goBack() {
    if (!this.back.length) {
      if (this.main.zoomed) this.zoom(this.main, 0);
      return;
    }
    this.state = { ...this.state, z: this.back.pop() };
    this.applyZoom(this.nodeOf(this.state.z));
    this.options.onState(this.shownState(), false);
  }

  rootName(flame) {
    const total = flame.graph.totals[flame.weight][0];
    return `${this.input.name} · ${formatValue(total, this.input.units[flame.weight])}`;
  }

  showPath() {
    const zoomed = this.main.zoomed;
    this.backButton.disabled = !this.back.length && !zoomed;
    const step = (node, text, title) =>
      h("button", { type: "button", title, "aria-current": node === zoomed ? "location" : null, onclick: () => this.zoom(this.main, node) }, text);
    const path = pathTo(this.shown, zoomed);
    const names = this.frames.names;
    const crumb = (node) => step(node, shortName(names[this.shown.frame[node]]), names[this.shown.frame[node]]);
    const cut = path.length > CRUMBS;
    replace(
      this.crumbs,
      step(0, "all", "The whole graph"),
      cut ? h("span", { class: "quiet" }, `… ${path.length - CRUMBS} more …`) : null,
      (cut ? path.slice(-CRUMBS) : path).map(crumb),
    );
  }

  syncControls() {
    const { controls: c, state, input } = this;
    for (const key of ["mode", "view", "side"]) c[key].select(state[key]);
    c.colour.value = state.colour;
    c.colour.hidden = Boolean(input.compare);
    c.side.hidden = !input.compare;
    if (input.compare) {
      const [a, b] = c.side.children;
      a.textContent = `widths: ${input.compare.names[1]}`;
      b.textContent = `widths: ${input.compare.names[0]}`;
    }
    c.rec.checked = Boolean(state.rec);
    c.re.checked = Boolean(state.re);
    for (const key of ["q", "inc", "exc"]) if (document.activeElement !== c[key]) c[key].value = state[key];
    this.filters.open = this.filters.open || Boolean(state.inc || state.exc);
    const chip = (text, title, changes) =>
      h("button", { type: "button", class: "chip", title: `${title}: ${text}. Click to undo.`, onclick: () => this.change(changes, true) }, `${title} ${shortName(text)} ✕`);
    const hidden = state.hide ? state.hide.split("\n") : [];
    replace(
      this.chips,
      state.focus ? chip(state.focus, "focus", { focus: "", z: "" }) : null,
      hidden.map((name) => chip(name, "hidden", { hide: hidden.filter((other) => other !== name).join("\n"), z: "" })),
      state.view === "sandwich" && state.frame ? chip(state.frame, "sandwich", { view: "down", frame: "" }) : null,
      state.view === "sandwich" && !this.ids.has(state.frame) ? h("span", { class: "quiet" }, "click a frame of the table for its callers and callees") : null,
    );
  }

  /** A frame of the table was chosen. */
  pick(frame) {
    const name = this.frames.names[frame];
    if (this.state.view === "sandwich") this.change({ frame: name, z: "" }, true);
    else {
      this.change({ q: name, re: "" });
      this.controls.q.value = name;
      this.showFrameDetails(name);
    }
  }

  numbers(flame, node) {
    const { graph } = flame;
    const { units, whole, compare } = this.input;
    const rows = [];
    for (let k = 0; k < graph.selfs.length; k++) {
      const label = compare ? `${compare.names[k]} ` : "";
      const view = graph.totals[k][flame === this.main ? this.main.zoomed : 0];
      for (const [word, values] of [["self", graph.selfs[k]], ["total", graph.totals[k]]]) {
        rows.push([`${label}${word}`, formatValue(values[node], units[k]), formatPercent(values[node], view), formatPercent(values[node], whole[k]), values[node]]);
      }
    }
    return rows;
  }

  describe(flame, node, className) {
    const { graph } = flame;
    const { names, types, typeNames } = this.frames;
    const frame = graph.frame[node];
    const title = node === 0 ? this.input.name : names[frame];
    const kind = node === 0 ? "" : `${typeText(typeNames[types[frame]])} · ${this.options.categories[flame.categoryOf(node)][1]}`;
    const { compare, whole } = this.input;
    let delta = null;
    if (compare) {
      const change = 100 * ((whole[1] ? graph.totals[1][node] / whole[1] : 0) - (whole[0] ? graph.totals[0][node] / whole[0] : 0));
      delta = h("p", {}, `share of total: ${change >= 0 ? "+" : "−"}${Math.abs(change).toFixed(2)} percentage points in ${compare.names[1]}`);
    }
    return h(
      "div",
      { class: className },
      h("p", { class: "name" }, title),
      kind ? h("p", { class: "quiet" }, kind) : null,
      h(
        "table",
        {},
        h("tr", {}, h("td"), h("td"), h("td", { class: "quiet" }, "of view"), h("td", { class: "quiet" }, "of stage")),
        this.numbers(flame, node).map(([word, value, view, stage, raw]) =>
          h("tr", {}, h("td", {}, word), h("td", { "data-number": word, "data-value": raw }, value), h("td", {}, view), h("td", {}, stage)),
        ),
      ),
      delta,
    );
  }

  showDetails(flame, node) {
    if (node < 0) {
      replace(this.details, h("p", { class: "quiet" }, "Click a frame to zoom; arrow keys move, Enter zooms, Escape goes back."));
      return;
    }
    const name = node === 0 ? null : this.frames.names[flame.graph.frame[node]];
    replace(this.details, this.describe(flame, node, "details-body"), name === null ? null : this.actions(name));
  }

  showFrameDetails(name) {
    replace(this.details, h("div", { class: "details-body" }, h("p", { class: "name" }, name)), this.actions(name));
  }

  actions(name) {
    const action = (text, title, act) => h("button", { type: "button", title, onclick: act }, text);
    const hidden = this.state.hide ? this.state.hide.split("\n") : [];
    return h(
      "div",
      { class: "actions" },
      action("Focus", "Stacks from this frame on; the others are left out", () => this.change({ focus: name, view: this.state.view === "sandwich" ? "down" : this.state.view, z: "" }, true)),
      action("Hide", "Take the frame out and join its callees to its caller", () => this.change({ hide: [...hidden, name].join("\n"), z: "" }, true)),
      action("Sandwich", "Its callers and callees", () => this.change({ view: "sandwich", frame: name, z: "" }, true)),
      action("Search", "Mark it everywhere", () => this.change({ q: name, re: "" })),
      action("Copy name", "Copy the frame's name", async (event) => {
        const button = event.target;
        button.textContent = (await copyText(name)) ? "Copied" : "Could not copy";
        setTimeout(() => (button.textContent = "Copy name"), 1500);
      }),
    );
  }

  showLegend() {
    const { input, state, frames, shown, main } = this;
    replace(this.legend, legendItems({ compare: input.compare, by: state.colour, graph: shown, frames, categories: this.options.categories, categoryOf: main.categoryOf }));
    const cut = (this.callers.element.hidden ? shown : this.callersGraph).cut;
    if (cut) this.legend.append(`Callers of what takes under ${100 * cut} % are not unfolded; filter or focus to see them.`);
  }

  export() {
    const text = folded(this.shown, this.frames.names, this.main.zoomed, this.weight());
    const name = `${this.input.name}.folded.txt`.replaceAll(/[^\w.-]+/g, "_");
    download(name, text);
  }
}
