// One flame graph on a canvas: drawing, hit test, mouse and keyboard. It knows a graph and how to
// paint and describe a node; what the nodes mean is the panel's business.
import { h } from "./dom.js";
import { shortName } from "./format.js";

const ROW = 18;
const NARROW_PX = 0.4; // frames below this are drawn merged; sums never are
const LABEL_PX = 28;
const TRUNK = 0.85; // share of the view that makes a frame part of the trunk
const FONT = '11.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

export class FlameCanvas {
  /**
   * options: {label, maxHeight, paint(node, frame), describe(node) -> Node, onZoom(node),
   * onCurrent(node), matched() -> Uint8Array | null, names}
   */
  constructor(options) {
    this.options = options;
    this.graph = null;
    this.weight = 0;
    this.zoomed = 0;
    this.current = -1;
    this.trunk = true;
    this.inverted = false; // false: icicle, root on top; true: flame, root at the bottom
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.spacer = h("div", { class: "flame-spacer" }, this.canvas);
    this.element = h(
      "div",
      { class: "flame", tabindex: "0", role: "application", "aria-label": options.label, "aria-roledescription": "flame graph" },
      this.spacer,
    );
    this.tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    this.listen();
  }

  listen() {
    const { element } = this;
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    element.addEventListener("mousemove", (event) => this.hover(event));
    element.addEventListener("mouseleave", () => this.hideTip());
    element.addEventListener("click", (event) => {
      const node = this.hit(event);
      if (node < 0) return;
      this.setCurrent(node);
      this.options.onZoom(node);
    });
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(element);
  }

  /** Shows `graph`, weight `k`, from node `zoomed` down. */
  show(graph, { weight = 0, zoomed = 0, inverted = this.inverted, trunk = true } = {}) {
    this.graph = graph;
    this.weight = weight;
    this.zoomed = zoomed;
    this.inverted = inverted;
    this.trunk = trunk; // start the view below the frames that nearly all samples share
    this.current = -1;
    this.layout();
  }

  zoom(node) {
    this.zoomed = node;
    this.layout();
  }

  layout() {
    if (!this.graph) return;
    this.hideTip(); // its percents are of another view
    this.measure();
    const { graph, zoomed } = this;
    let deepest = graph.depth[zoomed];
    this.walk((node, depth) => {
      if (depth > deepest) deepest = depth;
    });
    this.rows = deepest + 1;
    this.spacer.style.height = `${this.rows * ROW}px`;
    const limit = this.options.maxHeight();
    this.element.style.height = `${Math.max(ROW * 3, Math.min(this.rows * ROW, limit)) + 2}px`;
    this.measure();
    const skipped = this.trunk ? Math.max(0, this.trunkDepth() - 3) * ROW : 0;
    this.element.scrollTop = this.inverted ? this.rows * ROW - this.element.clientHeight - skipped : skipped;
    this.draw();
  }

  /** Depth down to which nearly all samples go one way: the view starts there. */
  trunkDepth() {
    const { graph, zoomed, weight } = this;
    const total = graph.totals[weight];
    let node = zoomed;
    for (let next = node; next >= 0; ) {
      node = next;
      next = this.widestChild(node);
      if (next >= 0 && total[next] < TRUNK * total[zoomed]) next = -1;
    }
    return graph.depth[node];
  }

  measure() {
    this.width = Math.max(50, this.element.clientWidth);
    this.height = Math.max(ROW, this.element.clientHeight);
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(this.width * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${this.height}px`;
    }
    this.ratio = ratio;
  }

  resize() {
    if (this.graph && this.element.clientWidth && this.element.clientWidth !== this.width) this.layout();
  }

  /**
   * Visits the zoomed subtree's nodes that are wide enough to see: visit(node, depth, x, width) may
   * return false to leave the node's children out. narrow(depth, x, width) gets what is too narrow.
   */
  walk(visit, narrow = null) {
    const { graph, zoomed, weight, width } = this;
    const { depth, end } = graph;
    const total = graph.totals[weight];
    const scale = total[zoomed] > 0 ? width / total[zoomed] : 0;
    const cursor = new Float64Array(2);
    let x = cursor;
    for (let i = zoomed; i < end[zoomed]; ) {
      const d = depth[i];
      if (d + 2 > x.length) {
        const wider = new Float64Array((d + 2) * 2);
        wider.set(x);
        x = wider;
      }
      const w = total[i] * scale;
      const left = x[d];
      x[d] = left + w;
      x[d + 1] = left;
      if (w < NARROW_PX) {
        if (narrow && w > 0) narrow(d, left, w);
        i = end[i];
      } else i = visit(i, d, left, w) === false ? end[i] : i + 1;
    }
  }

  rowTop(depth) {
    return (this.inverted ? this.rows - 1 - depth : depth) * ROW;
  }

  draw() {
    if (!this.graph) return;
    const { graph, zoomed, height, width, ratio } = this;
    const context = this.canvas.getContext("2d", { alpha: false });
    const style = getComputedStyle(this.element);
    const colours = {
      back: style.getPropertyValue("--canvas"),
      text: style.getPropertyValue("--flame-text"),
      match: style.getPropertyValue("--match"),
      matchText: style.getPropertyValue("--match-text"),
      narrow: style.getPropertyValue("--narrow"),
      accent: style.getPropertyValue("--accent"),
      root: style.getPropertyValue("--root"),
    };
    const scroll = this.element.scrollTop;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.back;
    context.fillRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    const letter = context.measureText("0").width;
    const matched = this.options.matched();
    const top = (depth) => this.rowTop(depth) - scroll;
    const box = (node, depth, x, w, faded) => {
      const y = top(depth);
      if (y > height || y + ROW < 0) return;
      const frame = graph.frame[node];
      const hit = matched !== null && node > 0 && matched[frame] === 1;
      context.globalAlpha = faded ? 0.55 : matched !== null && !hit ? 0.6 : 1;
      context.fillStyle = node === 0 ? colours.root : hit ? colours.match : this.options.paint(node, frame);
      context.fillRect(x, y, Math.max(NARROW_PX, w - (w > 3 ? 1 : 0)), ROW - 1);
      context.globalAlpha = faded ? 0.75 : 1;
      if (w > LABEL_PX) {
        const text = this.label(node, Math.floor((w - 8) / letter));
        if (text) {
          context.fillStyle = hit ? colours.matchText : colours.text;
          context.fillText(text, x + 4, y + ROW / 2);
        }
      }
      context.globalAlpha = 1;
      if (node === this.current) {
        context.strokeStyle = colours.accent;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(1, w - 3), ROW - 3);
      }
    };
    for (let i = graph.parent[zoomed]; i >= 0; i = graph.parent[i]) box(i, graph.depth[i], 0, width, true);
    const pending = new Map();
    const flush = (depth, [x, to]) => {
      const y = top(depth);
      if (to - x >= NARROW_PX && y < height && y + ROW > 0) {
        context.fillStyle = colours.narrow;
        context.fillRect(x, y, to - x, ROW - 1);
      }
    };
    this.walk(
      (node, depth, x, w) => {
        box(node, depth, x, w, false);
        const y = top(depth);
        return this.inverted ? y > -ROW : y < height;
      },
      (depth, x, w) => {
        const span = pending.get(depth);
        if (span && x - span[1] < 0.5) span[1] = x + w;
        else {
          if (span) flush(depth, span);
          pending.set(depth, [x, x + w]);
        }
      },
    );
    for (const [depth, span] of pending) flush(depth, span);
  }

  label(node, letters) {
    if (letters < 3) return "";
    const name = node === 0 ? this.options.rootName() : this.options.names[this.graph.frame[node]];
    if (name.length <= letters) return name;
    const short = shortName(name);
    return short.length <= letters ? short : `${short.slice(0, letters - 1)}…`;
  }

  /** The node under the mouse, or -1. */
  hit(event) {
    if (!this.graph) return -1;
    const bounds = this.element.getBoundingClientRect();
    const x = event.clientX - bounds.left - this.element.clientLeft;
    const y = event.clientY - bounds.top - this.element.clientTop + this.element.scrollTop;
    const row = Math.floor(y / ROW);
    const wanted = this.inverted ? this.rows - 1 - row : row;
    const { graph, zoomed } = this;
    if (wanted < 0 || wanted >= this.rows || x < 0 || x > this.width) return -1;
    if (wanted <= graph.depth[zoomed]) {
      let node = zoomed;
      while (graph.depth[node] > wanted) node = graph.parent[node];
      return node;
    }
    let found = -1;
    this.walk((node, depth, left, w) => {
      if (x < left || x >= left + w || found >= 0) return false;
      if (depth === wanted) found = node;
      return depth < wanted;
    });
    return found;
  }

  hover(event) {
    const node = this.hit(event);
    if (node < 0) {
      this.hideTip();
      return;
    }
    if (!this.tip.isConnected) document.body.append(this.tip);
    if (this.tip.hidden || this.tipNode !== node) {
      this.tip.replaceChildren(this.options.describe(node));
      this.tipNode = node;
      this.tip.hidden = false;
      this.element.style.cursor = "pointer";
    }
    const { width, height } = this.tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
    const under = event.clientY + 18;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${under + height > window.innerHeight ? Math.max(4, event.clientY - height - 12) : under}px`;
  }

  hideTip() {
    this.tip.hidden = true;
    this.tipNode = -1;
    this.element.style.cursor = "default";
  }

  setCurrent(node) {
    this.current = node;
    this.options.onCurrent(node);
    this.draw();
  }

  /** Arrows move, Enter zooms, Escape or Backspace goes back (the panel's), Home is the root. */
  key(event) {
    if (!this.graph || event.ctrlKey || event.metaKey || event.altKey) return;
    const { graph } = this;
    const at = this.current < 0 ? this.zoomed : this.current;
    const inward = this.inverted ? "ArrowUp" : "ArrowDown";
    const outward = this.inverted ? "ArrowDown" : "ArrowUp";
    let to = -1;
    if (event.key === inward) to = this.current < 0 ? at : this.widestChild(at);
    else if (event.key === outward) to = at > 0 ? graph.parent[at] : 0;
    else if (event.key === "ArrowRight") to = this.sibling(at, 1);
    else if (event.key === "ArrowLeft") to = this.sibling(at, -1);
    else if (event.key === "Enter" || event.key === " ") this.options.onZoom(at);
    else if (event.key === "Home") this.options.onZoom(0);
    else if (event.key === "Escape" || event.key === "Backspace") this.options.onBack();
    else return;
    event.preventDefault();
    if (to >= 0) {
      this.setCurrent(to);
      this.reveal(to);
    }
  }

  widestChild(node) {
    const { graph, weight } = this;
    let best = -1;
    for (let i = node + 1; i < graph.end[node]; i = graph.end[i]) {
      if (best < 0 || graph.totals[weight][i] > graph.totals[weight][best]) best = i;
    }
    return best;
  }

  sibling(node, step) {
    const { graph } = this;
    if (node === 0) return -1;
    let before = -1;
    for (let i = graph.parent[node] + 1; i < graph.end[graph.parent[node]]; i = graph.end[i]) {
      if (step > 0 && before === node) return i;
      if (step < 0 && i === node) return before;
      before = i;
    }
    return -1;
  }

  reveal(node) {
    const y = this.rowTop(this.graph.depth[node]);
    const { scrollTop, clientHeight } = this.element;
    if (y < scrollTop) this.element.scrollTop = y;
    else if (y + ROW > scrollTop + clientHeight) this.element.scrollTop = y + ROW - clientHeight;
  }
}
