// The first view of two runs: stage by stage, what took longer.
import { h } from "./dom.js";
import { formatDate, formatMs, formatPercent, formatValue } from "./format.js";
import { eventForBars, metric } from "./overview.js";
import { stageLabel } from "./scopes.js";

const change = (a, b) => (a ? (b - a) / a : b ? Infinity : 0);
const percent = (value) => (value === Infinity ? "new" : `${value >= 0 ? "+" : "−"}${Math.abs(100 * value).toFixed(1)} %`);
const tone = (value) => (value > 0.05 ? "grew" : value < -0.05 ? "shrank" : "");

const taskTime = (stage) => (stage ? metric(stage, "run_ms") || metric(stage, "duration_ms") : 0);

export function comparison(page) {
  const { doc } = page;
  const { names, runs, pairs } = doc.comparison;
  const event = eventForBars(doc, page.state.event);
  const unit = doc.events.find((entry) => entry.key === event)?.unit ?? "";
  const value = (stage) => stage?.samples[event]?.[1] ?? 0;
  const rows = pairs.map(([a, b]) => [doc.stages[a] ?? null, doc.stages[b] ?? null]);
  const sum = (side, of) => rows.reduce((total, pair) => total + of(pair[side]), 0);
  rows.sort((x, y) => Math.abs(taskTime(y[1]) - taskTime(y[0])) - Math.abs(taskTime(x[1]) - taskTime(x[0])) || Math.abs(value(y[1]) - value(y[0])) - Math.abs(value(x[1]) - value(x[0])));
  const wall = runs.map((run) => (run.end_ms && run.start_ms ? run.end_ms - run.start_ms : null));
  const tile = (label, of, a, b) => h("div", { class: "tile" }, h("span", { class: "quiet" }, label), h("b", { class: tone(change(a, b)), "data-change": change(a, b) }, percent(change(a, b))), h("span", { class: "quiet" }, `${of(a)} → ${of(b)}`));
  const number = (text, extra = {}) => h("td", { class: "number", ...extra }, text);
  return h(
    "div",
    { class: "overview" },
    h("p", { class: "notes" }, h("b", {}, `A ${names[0]}`), ` of ${formatDate(runs[0].start_ms)}, `, h("b", {}, `B ${names[1]}`), ` of ${formatDate(runs[1].start_ms)}`),
    h("div", { class: "tiles" }, wall[0] !== null && wall[1] !== null ? tile("Duration", formatMs, wall[0], wall[1]) : null, tile("Task time", formatMs, sum(0, taskTime), sum(1, taskTime)), event ? tile(event, (v) => formatValue(v, unit), sum(0, value), sum(1, value)) : null),
    h("p", { class: "toolbar" }, h("button", { type: "button", onclick: () => page.compare(`run:0|${event}|`, `run:1|${event}|`) }, "Graph of the whole runs")),
    h(
      "section",
      { class: "card" },
      h("h2", {}, "Stages, by what changed most"),
      h(
        "div",
        { class: "wide" },
        h(
          "table",
          { class: "stages" },
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Stage"), ["Task time A", "Task time B", "Change", `${event} A`, `${event} B`, "Change"].map((text) => h("th", { class: "number", scope: "col" }, text)))),
          h(
            "tbody",
            {},
            rows.map(([a, b]) => {
              const key = (stage) => `stage:${stage.key}|${event}|`;
              const delta = [change(taskTime(a), taskTime(b)), change(value(a), value(b))];
              const label = stageLabel({ ...(b ?? a), run: 0 });
              return h(
                "tr",
                { "data-pair": `${a?.key ?? ""}/${b?.key ?? ""}` },
                h("th", { scope: "row", title: (b ?? a).details }, a && b ? h("a", { href: "#", onclick: page.link(() => page.compare(key(a), key(b))) }, label) : `${label} (only in ${a ? "A" : "B"})`),
                number(formatMs(taskTime(a))),
                number(formatMs(taskTime(b))),
                number(a && b ? percent(delta[0]) : "–", { class: `number ${tone(delta[0])}` }),
                number(formatValue(value(a), unit)),
                number(formatValue(value(b), unit)),
                number(a && b ? percent(delta[1]) : "–", { class: `number ${tone(delta[1])}` }),
              );
            }),
          ),
        ),
      ),
    ),
    h("p", { class: "quiet" }, `Stages are matched by plan and call site. ${formatPercent(rows.filter(([a, b]) => a && b).length, rows.length)} of them are in both runs.`),
  );
}
