// A stage's tasks: who the stragglers are, and the picture of all of them.
import { h } from "./dom.js";
import { formatMs, formatValue } from "./format.js";

const STATUS = ["succeeded", "failed", "killed", "running"];

/** The tasks (rows of the tasks block) of some stages. */
export function tasksOf(tasks, stages) {
  const wanted = new Set(stages);
  const found = [];
  for (let row = 0; row < tasks.stage.length; row++) if (wanted.has(tasks.stage[row])) found.push(row);
  return found;
}

/**
 * Splits tasks by duration: stragglers took at least 1.5 times the third quartile, or are the slowest
 * twentieth where none did; typical ones are between the quartiles.
 */
export function splitTasks(tasks, rows) {
  const finished = rows.filter((row) => tasks.status[row] !== 3);
  const order = [...finished].sort((a, b) => tasks.duration_ms[a] - tasks.duration_ms[b]);
  const at = (q) => (order.length ? tasks.duration_ms[order[Math.min(order.length - 1, Math.floor(q * order.length))]] : 0);
  const [low, median, high] = [at(0.25), at(0.5), at(0.75)];
  let stragglers = order.filter((row) => tasks.duration_ms[row] >= 1.5 * high && tasks.duration_ms[row] > high);
  if (!stragglers.length) stragglers = order.slice(Math.min(order.length - 1, Math.floor(order.length * 0.95)));
  const slow = new Set(stragglers);
  const typical = order.filter((row) => tasks.duration_ms[row] >= low && tasks.duration_ms[row] <= high && !slow.has(row));
  return { stragglers, typical, median };
}

export function describeTask(doc, tasks, row) {
  const lines = [`task ${tasks.task_id[row]} · partition ${tasks.partition[row] - 1}${tasks.attempt[row] ? ` · attempt ${tasks.attempt[row]}` : ""}`];
  const executor = tasks.executor[row] ? doc.tasks.executors[tasks.executor[row] - 1] : null;
  lines.push(`${STATUS[tasks.status[row]]}${tasks.speculative[row] ? ", speculative" : ""}${executor === null ? "" : ` · executor ${executor}`}`);
  for (const [label, column, unit] of doc.tasks.metrics) if (tasks[column][row] > 0) lines.push(`${label}: ${formatValue(tasks[column][row], unit)}`);
  return lines;
}

const HEIGHT = 150;
const PAD = { left: 54, right: 10, top: 8, bottom: 18 };

/** Each task a mark: start against duration. onPick(row) on a click; the slowest are buttons, too. */
export class TaskStrip {
  constructor(doc, tasks, onPick) {
    this.doc = doc;
    this.tasks = tasks;
    this.onPick = onPick;
    this.canvas = h("canvas", { "aria-hidden": "true", height: HEIGHT });
    this.tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    this.slowest = h("div", { class: "slowest", "aria-label": "Slowest tasks" });
    this.element = h("div", { class: "strip" }, this.canvas, this.slowest);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => {
      const row = this.hit(event);
      if (row >= 0) this.onPick(row === this.selected ? -1 : row);
    });
    new ResizeObserver(() => this.draw()).observe(this.element);
    document.addEventListener("themechange", () => this.draw());
  }

  show(rows, selected) {
    this.rows = rows;
    this.selected = selected;
    const order = [...rows].sort((a, b) => this.tasks.duration_ms[b] - this.tasks.duration_ms[a]).slice(0, 3);
    this.slowest.replaceChildren(
      h("span", { class: "quiet" }, rows.length ? "slowest: " : "no tasks"),
      ...order.map((row) =>
        h(
          "button",
          { type: "button", class: "chip", "aria-pressed": String(row === selected), "data-task": this.tasks.task_id[row], onclick: () => this.onPick(row === selected ? -1 : row) },
          `${this.tasks.task_id[row]} · ${formatMs(this.tasks.duration_ms[row])}`,
        ),
      ),
    );
    this.draw();
  }

  draw() {
    if (!this.rows) return;
    const { tasks, rows, canvas } = this;
    const width = Math.max(120, this.element.clientWidth);
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${HEIGHT}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(this.element);
    const colour = (name) => style.getPropertyValue(name);
    let first = Infinity;
    let last = 0;
    let longest = 1;
    for (const row of rows) {
      first = Math.min(first, tasks.start_ms[row]);
      last = Math.max(last, tasks.start_ms[row]);
      longest = Math.max(longest, tasks.duration_ms[row]);
    }
    const spanX = Math.max(1, last - first);
    const plotW = width - PAD.left - PAD.right;
    const plotH = HEIGHT - PAD.top - PAD.bottom;
    this.place = (row) => [
      PAD.left + (plotW * (tasks.start_ms[row] - first)) / spanX,
      PAD.top + plotH * (1 - tasks.duration_ms[row] / longest),
    ];
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("--quiet");
    context.strokeStyle = colour("--line");
    context.textAlign = "right";
    for (const part of [0, 0.5, 1]) {
      const y = PAD.top + plotH * (1 - part) + 0.5;
      context.beginPath();
      context.moveTo(PAD.left, y);
      context.lineTo(width - PAD.right, y);
      context.stroke();
      context.fillText(formatMs(longest * part), PAD.left - 6, y + 4);
    }
    context.textAlign = "left";
    context.fillText("start of task", PAD.left, HEIGHT - 4);
    context.textAlign = "right";
    context.fillText(`+${formatMs(spanX)}`, width - PAD.right, HEIGHT - 4);
    const fills = [colour("--accent"), colour("--bad"), colour("--warn"), colour("--quiet")];
    context.globalAlpha = rows.length > 2000 ? 0.45 : 0.75;
    for (const row of rows) {
      const [x, y] = this.place(row);
      context.fillStyle = fills[tasks.status[row]];
      context.fillRect(x - 2, y - 2, 4, 4);
    }
    context.globalAlpha = 1;
    if (this.selected >= 0 && rows.includes(this.selected)) {
      const [x, y] = this.place(this.selected);
      context.strokeStyle = colour("--text");
      context.lineWidth = 2;
      context.strokeRect(x - 5, y - 5, 10, 10);
    }
  }

  hit(event) {
    if (!this.place) return -1;
    const bounds = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - bounds.left, event.clientY - bounds.top];
    let best = -1;
    let distance = 12 * 12;
    for (const row of this.rows) {
      const [x, y] = this.place(row);
      const d = (x - px) ** 2 + (y - py) ** 2;
      if (d < distance) [best, distance] = [row, d];
    }
    return best;
  }

  hover(event) {
    const row = this.hit(event);
    this.canvas.style.cursor = row < 0 ? "default" : "pointer";
    this.tip.hidden = row < 0;
    if (row < 0) return;
    if (!this.tip.isConnected) document.body.append(this.tip);
    const [head, ...lines] = describeTask(this.doc, this.tasks, row);
    this.tip.replaceChildren(h("p", { class: "name" }, head), ...lines.map((line) => h("p", {}, line)));
    const bounds = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - bounds.width - 8)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - bounds.height - 8)}px`;
  }
}
