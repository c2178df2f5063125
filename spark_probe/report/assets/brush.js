// Samples over time as bars; a drag chooses a slice. Buckets are those of the page's rows.
import { h } from "./dom.js";
import { formatMs } from "./format.js";

const HEIGHT = 46;

export class TimeBrush {
  /** zero: the run's start, epoch ms. onChange(from, to): buckets, both included; nulls for all. */
  constructor(buckets, zero, onChange) {
    this.buckets = buckets;
    this.zero = zero;
    this.onChange = onChange;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.label = h("output", { class: "quiet" });
    this.clear = h("button", { type: "button", hidden: true, onclick: () => this.choose(null, null) }, "All of it");
    this.box = h(
      "div",
      { class: "brush", tabindex: "0", role: "group", "aria-label": "Time. Drag to choose a slice; arrow keys move it, with Shift they widen it, Escape clears it." },
      this.canvas,
    );
    this.element = h("div", { class: "brush-row" }, this.box, h("div", { class: "brush-label" }, this.label, this.clear));
    this.box.addEventListener("pointerdown", (event) => this.drag(event));
    this.box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.box);
    document.addEventListener("themechange", () => this.draw());
  }

  /** over: {first, sums} or null. */
  show(over, from, to) {
    this.over = over;
    this.from = from;
    this.to = to;
    this.element.hidden = over === null || over.sums.length < 2;
    this.clear.hidden = from === null;
    if (over === null) return;
    const { origin_ms: origin, width_ms: width } = this.buckets;
    const start = origin + (from ?? over.first) * width;
    const length = ((to ?? over.first + over.sums.length - 1) - (from ?? over.first) + 1) * width;
    this.label.textContent = `from +${formatMs(start - this.zero)} for ${formatMs(length)}`;
    this.draw();
  }

  bucketAt(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const part = Math.min(0.9999, Math.max(0, (event.clientX - bounds.left) / bounds.width));
    return this.over.first + Math.floor(part * this.over.sums.length);
  }

  drag(event) {
    const start = this.bucketAt(event);
    this.box.setPointerCapture(event.pointerId);
    const move = (moved) => {
      const now = this.bucketAt(moved);
      this.from = Math.min(start, now);
      this.to = Math.max(start, now);
      this.draw();
    };
    const up = (ended) => {
      this.box.removeEventListener("pointermove", move);
      move(ended);
      this.choose(this.from, this.to);
    };
    this.box.addEventListener("pointermove", move);
    this.box.addEventListener("pointerup", up, { once: true });
  }

  key(event) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (event.key === "Escape") this.choose(null, null);
    else if (step) {
      const last = this.over.first + this.over.sums.length - 1;
      const clamp = (bucket) => Math.min(last, Math.max(this.over.first, bucket));
      if (this.from === null) this.choose(this.over.first, this.over.first);
      else if (event.shiftKey) this.choose(this.from, Math.max(this.from, clamp(this.to + step)));
      else this.choose(clamp(this.from + step), clamp(this.to + step));
    } else return;
    event.preventDefault();
  }

  choose(from, to) {
    this.onChange(from, to);
  }

  draw() {
    if (!this.over) return;
    const width = Math.max(100, this.box.clientWidth);
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = HEIGHT * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${HEIGHT}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(this.box);
    const { sums, first } = this.over;
    const top = sums.reduce((a, b) => Math.max(a, b), 0) || 1;
    const each = width / sums.length;
    for (let i = 0; i < sums.length; i++) {
      const inside = this.from !== null && first + i >= this.from && first + i <= this.to;
      context.fillStyle = style.getPropertyValue(this.from === null || inside ? "--accent" : "--narrow");
      const high = ((HEIGHT - 4) * sums[i]) / top;
      context.fillRect(i * each, HEIGHT - high, Math.max(0.5, each - (each > 4 ? 1 : 0)), high);
    }
  }
}
