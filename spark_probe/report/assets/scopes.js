// What a view is about: a stage attempt, a job, a SQL execution, a job group, a section, or everything.
import { shortName } from "./format.js";

const text = (value, limit) => (value.length > limit ? `${value.slice(0, limit - 1)}…` : value);

export function stageLabel(stage) {
  if (stage.id < 0) return `${stage.run ? "B · " : ""}${stage.name}`;
  const run = stage.run ? "B · " : "";
  const id = run + (stage.folded > 1 ? `${stage.folded} stages like ${stage.id}` : `Stage ${stage.id}${stage.attempt ? `.${stage.attempt}` : ""}`);
  return `${id} · ${stage.name}${stage.operators ? ` · ${stage.operators}` : ""}`;
}

/** All scopes of a document: [{key, kind, label, stages: [index]}]. */
export function listScopes(doc) {
  const { stages } = doc;
  const all = stages.map((_, index) => index);
  const scopes = [{ key: "all", kind: "Application", label: "Whole application", stages: all }];
  stages.forEach((stage, index) => {
    const key = stage.id < 0 ? stage.key : `stage:${stage.key}`;
    scopes.push({ key, kind: stage.id < 0 ? "Application" : "Stages", label: text(stageLabel(stage), 90), stages: [index] });
  });
  const grouped = (kind, prefix, keysOf, labelOf) => {
    const found = new Map();
    stages.forEach((stage, index) => {
      for (const value of keysOf(stage)) {
        if (value === null || value === undefined || value === "" || value < 0) continue;
        if (!found.has(value)) found.set(value, []);
        found.get(value).push(index);
      }
    });
    for (const [value, members] of found) scopes.push({ key: `${prefix}:${value}`, kind, label: text(labelOf(value), 90), stages: members });
  };
  const jobs = new Map(doc.jobs.map((job) => [job.job_id, job]));
  const executions = new Map(doc.sql.map((row) => [row.execution_id, row]));
  if (doc.comparison) grouped("Runs", "run", (stage) => [stage.run], (run) => `${"AB"[run]} · ${doc.comparison.names[run]}`);
  grouped("Sections", "section", (stage) => [stage.section], (name) => name);
  grouped("SQL executions", "sql", (stage) => [stage.sql], (id) => `SQL ${id} · ${executions.get(id)?.description ?? ""}`);
  grouped("Jobs", "job", (stage) => stage.jobs, (id) => `Job ${id} · ${jobs.get(id)?.description || jobs.get(id)?.name || ""}`);
  grouped("Job groups", "group", (stage) => [stage.group], (name) => name);
  grouped("Descriptions", "description", (stage) => [stage.description], (name) => name);
  return scopes;
}

export const scopeOf = (scopes, key) => scopes.find((scope) => scope.key === key) ?? scopes[0];

/** Wait, share and the rest that a person reads of a stage's hottest frame. */
export function hottest(stage, event) {
  const [name, value] = stage.hot[event]?.[0] ?? [];
  const total = stage.samples[event]?.[1] ?? 0;
  return name ? { name, short: shortName(name), value, share: total ? value / total : 0 } : null;
}
