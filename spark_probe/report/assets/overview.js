// The first view: what the application did, what is slow and why, where the time went.
import { addUp, categoryBar } from "./bars.js";
import { h, segmented } from "./dom.js";
import { formatBytes, formatCount, formatDate, formatMs, formatNs, formatPercent, formatValue } from "./format.js";
import { Lanes } from "./lanes.js";
import { hottest, stageLabel } from "./scopes.js";

const SHOWN_STAGES = 40;
const SHOWN_NOTES = 3;

export const metric = (stage, column) => stage.metrics.find((row) => row[4] === column)?.[3] ?? 0;

export function eventForBars(doc, wanted) {
  const events = doc.events.map((event) => event.key);
  return events.includes(wanted) ? wanted : events[0];
}

export function overview(page) {
  const { doc, state } = page;
  const event = eventForBars(doc, state.event);
  return h(
    "div",
    { class: "overview" },
    facts(doc),
    notes(doc),
    h("div", { class: "columns" }, findings(page), where(page, event)),
    h("section", { class: "card" }, h("h2", {}, "Time line"), new Lanes(doc, (key) => page.open(`stage:${key}`)).element),
    stageTable(page, event),
    coverage(doc),
  );
}

function facts(doc) {
  const { run, stages, coverage: seen, timeline } = doc;
  const real = stages.filter((stage) => stage.id >= 0);
  const sum = (column) => real.reduce((total, stage) => total + metric(stage, column), 0);
  const wall = timeline.end_ms - timeline.start_ms;
  const runMs = sum("run_ms") || sum("duration_ms");
  const count = (key) => real.reduce((total, stage) => total + (stage[key] ?? 0), 0);
  const failed = count("failed");
  const tile = (label, value, note = "", kind = "") => h("div", { class: `tile ${kind}` }, h("span", { class: "quiet" }, label), h("b", {}, value), h("span", { class: "quiet" }, note));
  const attempts = real.reduce((total, stage) => total + stage.folded, 0);
  const partial = seen.partial + seen.seen - seen.profiled;
  return h(
    "div",
    { class: "tiles" },
    tile("Duration", formatMs(wall), run.end_ms ? formatDate(run.start_ms) : "still running, or the driver died"),
    tile("Task time", formatMs(runMs), wall > 1 ? `${(runMs / wall).toFixed(1)} cores busy on average` : ""),
    tile("CPU", formatNs(sum("cpu_ns")), `${formatPercent(sum("cpu_ns") / 1e6, runMs)} of task time`),
    tile("GC in tasks", formatMs(sum("gc_ms")), `${formatPercent(sum("gc_ms"), runMs)} of task time`, sum("gc_ms") > 0.1 * runMs && runMs ? "bad" : ""),
    tile("Stages", formatCount(attempts), `${formatCount(doc.jobs.length)} jobs`),
    tile("Tasks", formatCount(count("tasks")), failed ? `${formatCount(failed)} failed` : "none failed", failed ? "bad" : ""),
    tile("Spill", formatBytes(sum("disk_spill_bytes")), `shuffle ${formatBytes(sum("shuffle_write_bytes"))}`, sum("disk_spill_bytes") ? "warn" : ""),
    tile("Executors profiled", `${seen.profiled} of ${seen.seen}`, partial ? `${partial} partial or missing: see coverage` : "whole", partial ? "warn" : ""),
  );
}

function notes(doc) {
  const list = (texts) => h("ul", { class: "notes quiet" }, texts.map((text) => h("li", {}, text)));
  if (doc.notes.length <= SHOWN_NOTES) return doc.notes.length ? list(doc.notes) : null;
  const rest = doc.notes.slice(SHOWN_NOTES);
  return h("div", { class: "notes-box" }, list(doc.notes.slice(0, SHOWN_NOTES)), h("details", {}, h("summary", { class: "quiet" }, `${rest.length} more notes`), list(rest)));
}

function findings(page) {
  const { doc } = page;
  const body = doc.findings.length
    ? h("ol", { class: "findings" }, doc.findings.map((finding) => findingCard(page, finding)))
    : h("p", { class: "empty" }, "Nothing to report: no rule found a cause worth its time. The stages below are ranked by the time that they took.");
  return h("section", { class: "card", "aria-label": "Findings" }, h("h2", {}, doc.findings.length ? `Findings, by the time they cost (${doc.findings.length})` : "Findings"), body);
}

export function findingCard(page, finding) {
  const scope = finding.stage ? `stage:${finding.stage}` : "all";
  const stage = page.doc.stages.find((entry) => entry.key === finding.stage);
  return h(
    "li",
    { class: `finding ${finding.severity}`, "data-rule": finding.rule },
    h("div", { class: "finding-head" }, h("b", {}, finding.title || finding.rule), h("span", { class: "grow" }), finding.cost_ms ? h("span", { class: "cost" }, formatMs(finding.cost_ms)) : null),
    h(
      "p",
      { class: "quiet" },
      stage ? h("a", { href: "#", onclick: page.link(() => page.open(scope)) }, stageLabel(stage)) : null,
      finding.code ? ` · ${finding.code}` : null,
      finding.numbers.map(([name, value]) => h("span", { class: "fact" }, `${name} `, h("b", {}, value))),
    ),
    finding.frames.length
      ? h(
          "p",
          { class: "proof" },
          finding.frames.slice(0, 4).map(([name, share]) =>
            h("button", { type: "button", class: "chip frame", title: `Show ${name} in the graph`, onclick: () => page.open(scope, { q: name }) }, `${name}${share === null ? "" : ` ${formatPercent(share, 1)}`}`),
          ),
        )
      : null,
    finding.advice ? h("p", {}, finding.advice) : null,
    finding.caveat ? h("p", { class: "quiet" }, finding.caveat) : null,
  );
}

function where(page, event) {
  const { doc, state } = page;
  if (!event) return h("section", { class: "card" }, h("h2", {}, "Where the time went"), h("p", { class: "empty" }, "This run has no samples."));
  const unit = doc.events.find((entry) => entry.key === event).unit;
  const inTasks = doc.stages.filter((stage) => stage.id >= 0);
  const sums = addUp(inTasks.map((stage) => stage.categories[event]), doc.categories.length);
  const total = inTasks.reduce((sum, stage) => sum + (stage.samples[event]?.[1] ?? 0), 0);
  const events = segmented("Event", doc.events.map(({ key }) => [key, key]), event, (key) => page.go({ ...state, event: key }));
  return h(
    "section",
    { class: "card", "aria-label": "Where the time went" },
    h("div", { class: "card-head" }, h("h2", {}, "Where the ", event === "alloc" ? "memory" : "time", " of tasks went"), h("span", { class: "grow" }), events),
    total ? categoryBar(doc.categories, sums, { labels: true }) : h("p", { class: "empty" }, "No samples of tasks for this event."),
    h("p", { class: "quiet total", "data-total": total }, `${formatValue(total, unit)} of ${event} in tasks · `, h("a", { href: "#", onclick: page.link(() => page.open("all", { event })) }, "graph of the whole application")),
  );
}

function stageTable(page, event) {
  const { doc, state } = page;
  const rows = doc.stages.map((stage, index) => ({ stage, index, task: metric(stage, "run_ms") || metric(stage, "duration_ms"), value: stage.samples[event]?.[1] ?? 0 }));
  const by = { time: (row) => row.task, wall: (row) => row.stage.busy_ms, value: (row) => row.value, id: (row) => -row.index }[state.sort] ?? ((row) => row.task || row.value / 1e6);
  rows.sort((a, b) => by(b) - by(a));
  const most = rows.reduce((top, row) => Math.max(top, row.task), 0) || 1;
  const unit = doc.events.find((entry) => entry.key === event)?.unit ?? "";
  const head = (key, text) => h("th", { scope: "col", class: "number", "aria-sort": (state.sort || "time") === key ? "descending" : "none" }, h("button", { type: "button", onclick: () => page.go({ ...state, sort: key }) }, text));
  const shown = state.all ? rows : rows.slice(0, SHOWN_STAGES);
  return h(
    "section",
    { class: "card", "aria-label": "Stages" },
    h("h2", {}, "Stages"),
    h(
      "div",
      { class: "wide" },
      h(
        "table",
        { class: "stages" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col", "aria-sort": state.sort === "id" ? "descending" : "none" }, h("button", { type: "button", onclick: () => page.go({ ...state, sort: "id" }) }, "Stage")), head("wall", "Wall"), h("th", { class: "number", scope: "col" }, "Tasks"), head("time", "Task time"), h("th", { class: "number", scope: "col" }, "GC"), h("th", { class: "number", scope: "col" }, "Shuffle r / w"), h("th", { class: "number", scope: "col" }, "Spill"), head("value", event ?? "samples"), h("th", { scope: "col" }, "Spent on"), h("th", { scope: "col" }, "Hottest frame"))),
        h("tbody", {}, shown.map((row) => stageRow(page, row, { event, unit, most }))),
      ),
    ),
    shown.length < rows.length ? h("p", {}, h("a", { href: "#", onclick: page.link(() => page.go({ ...state, all: "1" })) }, `All ${rows.length} rows`)) : null,
  );
}

function stageRow(page, { stage, task, value }, { event, unit, most }) {
  const scope = stage.id < 0 ? stage.key : `stage:${stage.key}`;
  const hot = event ? hottest(stage, event) : null;
  const shuffle = [metric(stage, "shuffle_read_bytes"), metric(stage, "shuffle_write_bytes")];
  const gc = metric(stage, "gc_ms");
  const number = (text, extra = {}) => h("td", { class: "number", ...extra }, text);
  return h(
    "tr",
    { "data-stage": stage.key },
    h("th", { scope: "row", title: stage.details || stage.name }, h("a", { href: "#", onclick: page.link(() => page.open(scope, { event })) }, stageLabel(stage)), stage.status === "failed" ? h("span", { class: "badge bad" }, "failed") : null),
    number(stage.busy_ms ? formatMs(stage.busy_ms) : "–"),
    number(stage.tasks ? formatCount(stage.tasks) : "–", stage.failed ? { title: `${stage.failed} failed`, class: "number grew" } : {}),
    h("td", { class: "number bar-cell" }, h("span", { class: "bar", style: { width: `${(100 * task) / most}%` } }), h("span", { class: "over" }, task ? formatMs(task) : "–")),
    number(gc ? formatPercent(gc, task) : "–", gc > 0.1 * task ? { class: "number grew" } : {}),
    number(shuffle[0] || shuffle[1] ? shuffle.map(formatBytes).join(" / ") : "–"),
    number(metric(stage, "disk_spill_bytes") ? formatBytes(metric(stage, "disk_spill_bytes")) : "–"),
    number(value ? formatValue(value, unit) : "–", { "data-value": value }),
    h("td", { class: "spent" }, value ? categoryBar(page.doc.categories, stage.categories[event]) : "–"),
    h("td", { class: "hottest" }, hot ? h("button", { type: "button", class: "frame", title: hot.name, onclick: () => page.open(scope, { event, q: hot.name }) }, `${formatPercent(hot.share, 1)} ${hot.short}`) : "–"),
  );
}

function coverage(doc) {
  const { coverage: seen } = doc;
  const rows = seen.executors.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.id),
      h("td", {}, row.host ?? ""),
      h("td", { class: row.state === "off" || row.state === "lost" ? "grew" : "" }, row.state ?? ""),
      h("td", {}, row.engine ?? ""),
      h("td", { class: "number" }, formatCount(row.samples ?? 0)),
      h("td", { class: `number ${row.samples_lost ? "grew" : ""}` }, formatCount(row.samples_lost ?? 0)),
      h("td", {}, row.missing.map((text) => h("p", { class: "grew" }, text)), row.notes.map((text) => h("p", {}, text))),
    ),
  );
  return h(
    "section",
    { class: "card", "aria-label": "Coverage" },
    h("h2", {}, "Coverage"),
    h("p", {}, `${seen.profiled} of ${seen.seen} executors profiled, ${seen.partial} of them partly. ${formatCount(seen.samples)} samples, ${formatPercent(seen.outside, seen.samples)} of them outside tasks (GC, JIT, netty, the driver's own work).`),
    rows.length
      ? h("div", { class: "wide" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ["Executor", "Host", "State", "Engine", "Samples", "Lost", "Notes"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows)))
      : null,
  );
}
