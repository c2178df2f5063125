// The run's time line: jobs, stages, executors, GC pauses and firings, one above the other.
import { h } from "./dom.js";
import { formatMs } from "./format.js";
import { stageLabel } from "./scopes.js";

const ROW = 13;
const LABEL_WIDTH = 74;
const MAX_ROWS = { jobs: 5, stages: 9, executors: 6 };

/** Puts intervals into as few rows as they fit, at most `most`; the last row takes what is left. */
export function packRows(items, most) {
  const ends = [];
  for (const item of [...items].sort((a, b) => a.from - b.from || b.to - a.to)) {
    let row = ends.findIndex((end) => end <= item.from);
    if (row < 0) row = ends.length < most ? ends.length : most - 1;
    ends[row] = Math.max(ends[row] ?? 0, item.to);
    item.row = row;
  }
  return ends.length;
}

function itemsOf(doc, onStage) {
  const { timeline, stages, jobs, triggers } = doc;
  const end = timeline.end_ms;
  const interval = (from, to, extra) => ({ from, to: Math.max(to ?? end, from), ...extra });
  return {
    jobs: jobs
      .filter((job) => job.submitted_ms)
      .map((job) => interval(job.submitted_ms, job.completed_ms, { fill: job.status === "failed" ? "--lane-bad" : "--lane-job", text: `Job ${job.job_id} · ${job.description || job.name || ""}` })),
    stages: stages
      .filter((stage) => stage.submitted_ms)
      .map((stage) => interval(stage.submitted_ms, stage.completed_ms, { fill: stage.status === "failed" ? "--lane-bad" : "--lane-stage", text: stageLabel(stage), pick: () => onStage(stage.key) })),
    executors: timeline.executors
      .filter((executor) => executor.added_ms)
      .map((executor) =>
        interval(executor.added_ms, executor.removed_ms, { fill: executor.removed_ms && executor.removed_ms < end ? "--lane-gone" : "--lane-executor", text: `Executor ${executor.id} · ${executor.host ?? ""}${executor.cores ? ` · ${executor.cores} cores` : ""}${executor.reason ? ` · ${executor.reason}` : ""}` }),
      ),
    firings: triggers.filter((row) => row.time_ms).map((row) => interval(row.time_ms, row.time_ms, { fill: "--bad", row: 0, text: `${row.rule} · ${row.action ?? ""}`, pick: row.stage ? () => onStage(row.stage) : null })),
  };
}

export class Lanes {
  constructor(doc, onStage) {
    this.doc = doc;
    this.items = itemsOf(doc, onStage);
    this.lanes = [];
    let top = 4;
    for (const [key, label] of [["jobs", "Jobs"], ["stages", "Stages"], ["executors", "Executors"]]) {
      if (!this.items[key].length) continue;
      const rows = packRows(this.items[key], MAX_ROWS[key]);
      this.lanes.push({ key, label, top, rows });
      top += rows * ROW + 6;
    }
    if (doc.timeline.gc.count) {
      this.lanes.push({ key: "gc", label: "GC pauses", top, rows: 2 });
      top += 2 * ROW + 6;
    }
    if (this.items.firings.length) {
      this.lanes.push({ key: "firings", label: "Firings", top, rows: 1 });
      top += ROW + 6;
    }
    this.height = top + 16;
    const span = doc.timeline.end_ms - doc.timeline.start_ms;
    const words = this.lanes.map((lane) => `${this.items[lane.key]?.length ?? doc.timeline.gc.count} ${lane.label.toLowerCase()}`);
    this.canvas = h("canvas", { role: "img", "aria-label": `Time line of ${formatMs(span)}: ${words.join(", ")}. The table of stages has the same times.` });
    this.tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    this.element = h("div", { class: "lanes" }, this.canvas);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => this.hit(event)?.pick?.());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  x(ms) {
    const { start_ms: start, end_ms: end } = this.doc.timeline;
    return LABEL_WIDTH + ((this.width - LABEL_WIDTH - 8) * (ms - start)) / (end - start);
  }

  draw() {
    const { canvas, doc } = this;
    this.width = Math.max(300, this.element.clientWidth);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = this.width * ratio;
    canvas.height = this.height * ratio;
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    const style = getComputedStyle(this.element);
    const colour = (name) => style.getPropertyValue(name);
    const { start_ms: start, end_ms: end } = doc.timeline;
    for (let part = 0; part <= 4; part++) {
      const x = Math.round(this.x(start + ((end - start) * part) / 4)) + 0.5;
      context.strokeStyle = colour("--line");
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.height - 14);
      context.stroke();
      context.fillStyle = colour("--quiet");
      context.textAlign = part === 4 ? "right" : part ? "center" : "left";
      context.fillText(part ? `+${formatMs(((end - start) * part) / 4)}` : "0", x, this.height - 3);
    }
    context.textAlign = "left";
    for (const lane of this.lanes) {
      context.fillStyle = colour("--quiet");
      context.fillText(lane.label, 0, lane.top + 10);
      if (lane.key === "gc") {
        this.drawPauses(context, lane, colour("--bad"));
        continue;
      }
      for (const item of this.items[lane.key]) {
        const x = this.x(item.from);
        const w = Math.max(lane.key === "firings" ? 3 : 1.2, this.x(item.to) - x - 0.5);
        context.fillStyle = colour(item.fill);
        context.fillRect(x, lane.top + item.row * ROW, w, ROW - 2);
        if (w > 60 && lane.key !== "firings") {
          context.save();
          context.beginPath();
          context.rect(x, lane.top + item.row * ROW, w - 3, ROW - 2);
          context.clip();
          context.fillStyle = colour("--lane-text");
          context.fillText(item.text, x + 3, lane.top + item.row * ROW + 9);
          context.restore();
        }
      }
    }
  }

  drawPauses(context, lane, fill) {
    const { bin_ms: bin, pause_ms: pauses } = this.doc.timeline.gc;
    const { start_ms: start } = this.doc.timeline;
    const most = pauses.reduce((a, b) => Math.max(a, b), 0) || 1;
    context.fillStyle = fill;
    pauses.forEach((ms, i) => {
      if (!ms) return;
      const x = this.x(start + i * bin);
      const high = Math.max(1, (2 * ROW * ms) / most);
      context.fillRect(x, lane.top + 2 * ROW - high, Math.max(1, this.x(start + (i + 1) * bin) - x), high);
    });
  }

  hit(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - bounds.left, event.clientY - bounds.top];
    for (const lane of this.lanes) {
      if (py < lane.top || py >= lane.top + lane.rows * ROW) continue;
      if (lane.key === "gc") return this.pauseAt(px);
      const row = Math.floor((py - lane.top) / ROW);
      const near = (item) => item.row === row && px >= this.x(item.from) - 3 && px <= Math.max(this.x(item.to), this.x(item.from) + 2) + 2;
      return this.items[lane.key].findLast(near) ?? null;
    }
    return null;
  }

  pauseAt(px) {
    const { bin_ms: bin, pause_ms: pauses, longest } = this.doc.timeline.gc;
    const { start_ms: start } = this.doc.timeline;
    const index = pauses.findIndex((ms, i) => ms && Math.abs(this.x(start + (i + 0.5) * bin) - px) < 3);
    if (index < 0) return null;
    const inside = longest.filter((pause) => Math.floor((pause.start_ms - start) / bin) === index).sort((a, b) => b.ms - a.ms);
    const worst = inside[0] ? ` · longest ${formatMs(inside[0].ms)} on executor ${inside[0].executor ?? "?"}: ${inside[0].what}` : "";
    return { text: `GC pauses of ${formatMs(pauses[index])} within ${formatMs(bin)}${worst}`, from: start + index * bin, to: start + (index + 1) * bin };
  }

  hover(event) {
    const item = this.hit(event);
    this.tip.hidden = !item;
    this.canvas.style.cursor = item?.pick ? "pointer" : "default";
    if (!item) return;
    if (!this.tip.isConnected) document.body.append(this.tip);
    this.tip.replaceChildren(h("p", { class: "name" }, item.text), h("p", { class: "quiet" }, `+${formatMs(item.from - this.doc.timeline.start_ms)} for ${formatMs(item.to - item.from)}`));
    const bounds = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - bounds.width - 8)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - bounds.height - 8)}px`;
  }
}
