// One stage (or job, section, …): its numbers, its tasks, its time, and its graphs.
import { addUp, categoryBar } from "./bars.js";
import { TimeBrush } from "./brush.js";
import { h, replace, segmented, select } from "./dom.js";
import { formatDate, formatMs, formatValue } from "./format.js";
import { findingCard } from "./overview.js";
import { scopeOf } from "./scopes.js";
import { SAMPLES, VALUE } from "./store.js";
import { TaskStrip, describeTask, tasksOf } from "./tasks.js";
import { prune } from "./tree.js";

export const COUNTED = new Set(["alloc", "lock", "method"]);

/** The samples of a view in words and as rows: from the page's state. */
export function selectionOf(page, state) {
  const { doc, store, tasks } = page;
  const scope = scopeOf(page.scopes, state.scope ?? "all");
  const present = store.eventsOf(scope.stages);
  const offered = doc.events.filter(({ key }) => present.has(doc.event_names.indexOf(key)));
  const event = offered.find(({ key }) => key === state.event) ?? offered[0] ?? null;
  const measure = event && COUNTED.has(event.key) && state.m === "n" ? SAMPLES : VALUE;
  const unit = !event ? "" : measure === SAMPLES ? "samples" : event.unit;
  const row = state.task ? tasks.task_id.findIndex((id) => String(id) === String(state.task)) : -1;
  const wanted = doc.state_names.indexOf(state.st ?? "");
  const [from, to] = state.t ? state.t.split("-").map(Number) : [null, null];
  return {
    scope,
    offered,
    event,
    measure,
    unit,
    task: row,
    rows: { stages: scope.stages, event: event ? doc.event_names.indexOf(event.key) : -1, tasks: row >= 0 ? new Set([row]) : null, from, to, state: state.st && wanted >= 0 ? wanted : null },
  };
}

export class StageView {
  constructor(page) {
    this.page = page;
    this.strip = new TaskStrip(page.doc, page.tasks, (row) => page.go({ ...page.state, task: row < 0 ? "" : page.tasks.task_id[row], z: "" }, true));
    this.brush = new TimeBrush(page.doc.buckets, page.doc.timeline.start_ms, (from, to) => page.go({ ...page.state, t: from === null ? "" : `${from}-${to}`, z: "" }, true));
    this.head = h("div", { class: "scope-head" });
    this.numbers = h("div", { class: "card numbers", tabindex: "0", role: "region", "aria-label": "Task metrics" });
    this.taskCard = h("div", { class: "card" }, h("h2", {}, "Tasks: start against duration"), this.strip.element);
    this.spent = h("div", { class: "card" });
    this.extra = h("div");
    this.events = h("div", { class: "toolbar event-bar" });
    this.element = h("div", { class: "stage-view" }, this.head, h("div", { class: "three" }, this.numbers, this.taskCard, this.spent), this.events, this.brush.element, h("div", { class: "slot" }), this.extra);
  }

  show() {
    const { page } = this;
    const { doc, store, state } = page;
    const chosen = selectionOf(page, state);
    const stages = chosen.scope.stages.map((index) => doc.stages[index]);
    this.showHead(chosen, stages);
    replace(this.numbers, metricsTable(doc, stages));
    const tasks = tasksOf(page.tasks, chosen.scope.stages);
    this.numbers.hidden = this.taskCard.hidden = !tasks.length;
    this.strip.show(tasks, chosen.task);
    const event = chosen.event?.key;
    const sums = addUp(stages.map((stage) => stage.categories[event]), doc.categories.length);
    replace(this.spent, h("h2", {}, event ? `Spent on (${event})` : "Spent on"), sums.some((value) => value > 0) ? categoryBar(doc.categories, sums, { labels: true }) : h("p", { class: "empty" }, "No samples."));
    replace(this.extra, extras(page, stages));
    this.showEvents(chosen);
    const wholeTime = { ...chosen.rows, from: null, to: null };
    this.brush.show(chosen.event ? store.overTime(wholeTime, chosen.measure) : null, chosen.rows.from, chosen.rows.to);
    this.element.querySelector(".slot").replaceChildren(page.panel.element);
    const self = store.weights(chosen.rows, chosen.measure);
    const whole = store.weights({ stages: chosen.rows.stages, event: chosen.rows.event }, chosen.measure).reduce((a, b) => a + b, 0);
    page.panel.show({ graph: prune(store.tree, [self]), units: [chosen.unit], whole: [whole], name: this.graphName(chosen), compare: null }, state);
  }

  graphName({ scope, event, task, rows }) {
    const parts = [scope.label, event?.key ?? "no samples"];
    if (task >= 0) parts.push(`task ${this.page.tasks.task_id[task]}`);
    if (rows.from !== null) parts.push("slice of time");
    return parts.join(" · ");
  }

  showHead(chosen, stages) {
    const { page } = this;
    const { doc } = page;
    const kinds = new Map();
    for (const scope of page.scopes) kinds.set(scope.kind, [...(kinds.get(scope.kind) ?? []), scope]);
    const picker = h(
      "select",
      { "aria-label": "Stage, job or section", class: "scope", onchange: (event) => page.open(event.target.value) },
      [...kinds].map(([kind, scopes]) => h("optgroup", { label: kind }, scopes.map((scope) => h("option", { value: scope.key, selected: scope.key === chosen.scope.key }, scope.label)))),
    );
    const only = stages.length === 1 && stages[0].id >= 0 ? stages[0] : null;
    const fact = (name, value) => (value ? h("span", { class: "fact" }, `${name} `, h("b", {}, value)) : null);
    replace(
      this.head,
      h("div", { class: "toolbar" }, picker, only ? [fact("", only.status), fact("wall", only.busy_ms ? formatMs(only.busy_ms) : ""), fact("tasks", only.tasks ? `${only.tasks}${only.failed ? `, ${only.failed} failed` : ""}` : ""), fact("submitted", only.submitted_ms && !doc.comparison ? formatDate(only.submitted_ms) : ""), fact("jobs", only.jobs.join(", ")), fact("SQL", only.sql === null || only.sql === undefined || only.sql < 0 ? "" : String(only.sql))] : stages.length > 1 ? h("span", { class: "fact" }, `${stages.length} stages`) : null),
      only ? details(only) : null,
      only ? this.pointers(only) : null,
    );
  }

  /** What was found about the stage, in a line each; all of it stands below the graph. */
  pointers(stage) {
    const { findings, triggers, dumps } = this.page.doc;
    const mine = (rows) => rows.filter((row) => row.stage === stage.key);
    const counts = [
      [mine(triggers).length, "firing"],
      [mine(dumps).length, "thread dump"],
    ].filter(([count]) => count);
    const jump = () => this.extra.scrollIntoView({ behavior: "smooth" });
    const found = mine(findings);
    if (!found.length && !counts.length) return null;
    return h(
      "p",
      { class: "pointers" },
      found.map((finding) => h("button", { type: "button", class: `chip ${finding.severity}`, onclick: jump }, `${finding.title || finding.rule}${finding.cost_ms ? ` · ${formatMs(finding.cost_ms)}` : ""}`)),
      counts.map(([count, word]) => h("button", { type: "button", class: "chip", onclick: jump }, `${count} ${word}${count > 1 ? "s" : ""}`)),
    );
  }

  showEvents(chosen) {
    const { page } = this;
    const { state } = page;
    const buttons = segmented("Event", chosen.offered.map(({ key }) => [key, key]), chosen.event?.key, (key) => page.go({ ...state, event: key, st: "", z: "" }, true));
    const states = [...page.store.statesOf({ stages: chosen.rows.stages, event: chosen.rows.event })].map((code) => page.doc.state_names[code]).filter(Boolean).sort();
    const byState = states.length > 1 ? select("State", [["", "all states"], ...states.map((name) => [name, name])], state.st ?? "", (st) => page.go({ ...state, st, z: "" }, true)) : null;
    const counted = chosen.event && COUNTED.has(chosen.event.key);
    const amount = chosen.event?.unit === "bytes" ? "bytes" : "time";
    const measure = counted ? select("Measure", [["", amount], ["n", "count"]], state.m ?? "", (m) => page.go({ ...state, m, z: "" }, true)) : null;
    replace(
      this.events,
      h("h2", {}, "Flame graph"),
      buttons,
      measure,
      byState,
      chosen.task >= 0 ? h("button", { type: "button", class: "chip", title: describeTask(page.doc, page.tasks, chosen.task).join("\n"), onclick: () => page.go({ ...state, task: "", z: "" }, true) }, `task ${page.tasks.task_id[chosen.task]} only ✕`) : null,
      h("span", { class: "grow" }),
      h("button", { type: "button", onclick: () => page.compare(`${chosen.scope.key}|${chosen.event?.key ?? ""}|`, `${chosen.scope.key}|${chosen.event?.key ?? ""}|`) }, "Compare …"),
    );
  }
}

function details(stage) {
  const parts = [];
  if (stage.nodes.length) parts.push(h("p", {}, h("span", { class: "quiet" }, "plan: "), stage.nodes.map(([name, description]) => h("span", { class: "node", title: description }, name))));
  if (stage.failure) parts.push(h("pre", { class: "grew" }, stage.failure));
  const where = stage.details ? h("details", { class: "call-site" }, h("summary", {}, h("span", { class: "quiet" }, "call site: "), stage.details.split("\n")[0]), h("pre", {}, stage.details)) : null;
  return h("div", { class: "stage-details" }, where, parts);
}

function metricsTable(doc, stages) {
  const shown = stages.length === 1 ? stages[0] : null;
  if (shown && shown.metrics?.length) {
    return h(
      "table",
      { class: "plain metrics" },
      h("thead", {}, h("tr", {}, ["Task metric", "min", "25 %", "median", "75 %", "max", "sum"].map((text, i) => h("th", { scope: "col", class: i ? "number" : "" }, text)))),
      h("tbody", {}, shown.metrics.map(([label, unit, quantiles, sum]) => h("tr", { "data-metric": label }, h("th", { scope: "row" }, label), quantiles.map((value) => h("td", { class: `number ${value === quantiles[4] && quantiles[4] > 3 * quantiles[3] ? "grew" : ""}` }, formatValue(value, unit))), h("td", { class: "number" }, formatValue(sum, unit))))),
    );
  }
  const sums = new Map();
  for (const stage of stages) for (const [label, unit, , sum] of stage.metrics ?? []) sums.set(label, [unit, (sums.get(label)?.[1] ?? 0) + sum]);
  if (!sums.size) return h("p", { class: "empty" }, "No task metrics.");
  return h("table", { class: "plain metrics" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Task metric"), h("th", { scope: "col", class: "number" }, "sum"))), h("tbody", {}, [...sums].map(([label, [unit, sum]]) => h("tr", {}, h("th", { scope: "row" }, label), h("td", { class: "number" }, formatValue(sum, unit))))));
}

/** Findings, firings and thread dumps of these stages. */
function extras(page, stages) {
  const keys = new Set(stages.filter((stage) => stage.id >= 0).map((stage) => stage.key));
  const mine = (row) => row.stage !== null && keys.has(row.stage);
  const { findings, triggers, dumps } = page.doc;
  const list = [];
  const found = findings.filter(mine);
  if (found.length && stages.length === 1) list.push(h("section", { class: "card" }, h("ol", { class: "findings" }, found.map((finding) => findingCard(page, finding)))));
  const fired = triggers.filter(mine);
  if (fired.length) {
    const row = (f) => h("tr", {}, h("td", {}, formatDate(f.time_ms)), h("td", {}, f.rule), h("td", {}, f.task_id >= 0 ? h("a", { href: "#", onclick: page.link(() => page.open(`stage:${f.stage}`, { task: String(f.task_id) })) }, String(f.task_id)) : ""), h("td", { class: "number" }, formatValue(f.value, f.unit)), h("td", { class: "number" }, formatValue(f.threshold, f.unit)), h("td", {}, f.action ?? ""), h("td", {}, f.note ?? ""));
    list.push(h("details", { class: "card", open: true }, h("summary", {}, `Firings (${fired.length})`), h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ["Time", "Rule", "Task", "Value", "Threshold", "Action", "Note"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, fired.slice(0, 100).map(row)))));
  }
  const dumped = dumps.filter(mine);
  if (dumped.length) list.push(h("details", { class: "card" }, h("summary", {}, `Thread dumps (${dumped.length})`), dumped.slice(0, 50).map((d) => h("details", {}, h("summary", {}, `${formatDate(d.time_ms)} · task ${d.task_id} · ${d.thread} · ${d.state ?? ""}`), h("pre", {}, d.text)))));
  return list;
}
