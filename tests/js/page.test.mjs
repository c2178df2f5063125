import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeCategories } from "../../spark_probe/report/assets/categories.js";
import { formatBytes, formatMs, formatNs, formatPercent, formatValue, shortName } from "../../spark_probe/report/assets/format.js";
import { packRows } from "../../spark_probe/report/assets/lanes.js";
import { matchFrames, matcher } from "../../spark_probe/report/assets/search.js";
import { listScopes, scopeOf } from "../../spark_probe/report/assets/scopes.js";
import { formatFragment, parseFragment } from "../../spark_probe/report/assets/state.js";
import { Store } from "../../spark_probe/report/assets/store.js";
import { splitTasks } from "../../spark_probe/report/assets/tasks.js";
import { treeFromPops } from "../../spark_probe/report/assets/tree.js";

test("numbers are told in their units", () => {
  assert.equal(formatNs(1_500_000_000), "1.50 s");
  assert.equal(formatNs(999), "999 ns");
  assert.equal(formatNs(90e9), "1.50 min");
  assert.equal(formatBytes(5 * 2 ** 20), "5.00 MiB");
  assert.equal(formatMs(245_000), "4 min 05 s");
  assert.equal(formatMs(7_380_000), "2 h 03 min");
  assert.equal(formatMs(59_999.6), "1 min 00 s");
  assert.equal(formatValue(1234, "samples"), "1,234 samples");
  assert.equal(formatValue(null, "ns"), "–");
});

test("percentages never claim 0 or 100 that is not", () => {
  assert.equal(formatPercent(1, 100_000), "<0.1 %");
  assert.equal(formatPercent(0, 10), "0.0 %");
  assert.equal(formatPercent(999, 1000), "99.9 %");
  assert.equal(formatPercent(1, 0), "–");
});

test("short names keep class and method", () => {
  assert.equal(shortName("org.apache.spark.scheduler.Task.run"), "Task.run");
  assert.equal(shortName("com.acme.Job$$Lambda.apply:42"), "Job$$Lambda.apply:42");
  assert.equal(shortName("G1Par::copy"), "G1Par::copy");
  assert.equal(shortName("byte[]"), "byte[]");
  assert.equal(shortName("java.lang.Object[]"), "lang.Object[]");
  assert.equal(shortName("libz.so.1.2.13"), "libz.so.1.2.13");
  assert.equal(shortName("libzstd-jni-1.5.6-10.so"), "libzstd-jni-1.5.6-10.so");
  assert.equal(shortName("com.acme.Job.<init>"), "Job.<init>");
});

test("the fragment brings back what was written", () => {
  const state = { view: "stage", q: "a&b=#c d", hide: "x\ny", z: "" };
  assert.deepEqual(parseFragment(formatFragment(state)), { view: "stage", q: "a&b=#c d", hide: "x\ny" });
  assert.equal(formatFragment({ z: "", q: null }), "");
});

test("intervals share rows where they do not overlap", () => {
  const items = [[0, 10], [5, 8], [10, 12], [6, 20]].map(([from, to]) => ({ from, to }));
  assert.equal(packRows(items, 5), 3);
  assert.deepEqual(items.map((item) => item.row), [0, 1, 0, 2]);
  assert.equal(packRows(items, 2), 2);
});

const tree = treeFromPops([0, 1], [0, 1]); // root -> a, b
const rows = {
  stage: Int32Array.from([0, 0, 0, 1]),
  event: Int32Array.from([0, 0, 1, 0]),
  state: Uint8Array.from([0, 1, 0, 0]),
  burst: Uint8Array.from([0, 1, 0, 0]),
  node: Int32Array.from([1, 2, 2, 1]),
  task: Int32Array.from([0, 1, 1, -1]),
  bucket: Int32Array.from([5, 7, 5, -1]),
  samples: Float64Array.from([1, 2, 4, 8]),
  value: Float64Array.from([10, 20, 40, 80]),
};

test("a selection adds up just its rows", () => {
  const store = new Store(rows, tree);
  assert.deepEqual([...store.weights({ stages: [0, 1], event: 0 }, "value")], [0, 90, 20]);
  assert.deepEqual([...store.weights({ stages: [0], event: 0, tasks: new Set([1]) }, "samples")], [0, 0, 2]);
  assert.deepEqual([...store.weights({ stages: [0], event: 0, from: 5, to: 6 }, "value")], [0, 10, 0]);
  assert.deepEqual([...store.weights({ stages: [0], event: 0, state: 1 }, "value")], [0, 0, 20]);
  assert.deepEqual([...store.weights({ stages: [0], event: 0, burst: 1 }, "value")], [0, 0, 20]);
  assert.deepEqual([...store.statesOf({ stages: [0], event: 0 })], [0, 1]);
  assert.deepEqual([...store.eventsOf([1])], [0]);
  const over = store.overTime({ stages: [0], event: 0 }, "value");
  assert.equal(over.first, 5);
  assert.deepEqual([...over.sums], [10, 0, 20]);
  assert.equal(store.overTime({ stages: [1], event: 0 }, "value"), null);
});

test("stragglers stand out of the quartiles", () => {
  const duration_ms = Float64Array.from([10, 11, 12, 13, 14, 60]);
  const tasks = { duration_ms, status: new Uint8Array(6) };
  const { stragglers, typical } = splitTasks(tasks, [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(stragglers, [5]);
  assert.deepEqual(typical, [1, 2, 3, 4]);
  const even = splitTasks({ duration_ms: new Float64Array(4).fill(9), status: new Uint8Array(4) }, [0, 1, 2, 3]);
  assert.equal(even.stragglers.length, 1);
  assert.deepEqual(splitTasks(tasks, []), { stragglers: [], typical: [], median: 0 });
});

test("a sample's category is that of its innermost frame that has one; waiting is its claimant's", () => {
  const graph = { n: 4, frame: Int32Array.from([-1, 0, 1, 2]), parent: Int32Array.from([-1, 0, 1, 2]) };
  const [none, waits, claims] = [63, 64, 128];
  assert.deepEqual([...nodeCategories(graph, [3, none, none], 9)], [9, 3, 3, 3]);
  assert.deepEqual([...nodeCategories(graph, [3 | claims, none, 5 | waits], 9)], [9, 3, 3, 3]);
  assert.deepEqual([...nodeCategories(graph, [3, none, 5 | waits], 9)], [9, 3, 3, 5]);
  assert.deepEqual([...nodeCategories(graph, [none, 2, 4], 9, true)], [9, 9, 2, 2]);
});

test("scopes group stages by job, execution, section", () => {
  const stage = (id, extra) => ({ id, key: `${id}.0`, attempt: 0, folded: 1, name: "n", jobs: [], sql: null, group: "", section: "", description: "", ...extra });
  const doc = { stages: [stage(0, { jobs: [1, 2], section: "s|x" }), stage(1, { jobs: [2], sql: 7 }), stage(-1, { key: "outside" })], jobs: [], sql: [] };
  const scopes = listScopes(doc);
  assert.deepEqual(scopeOf(scopes, "job:2").stages, [0, 1]);
  assert.deepEqual(scopeOf(scopes, "sql:7").stages, [1]);
  assert.deepEqual(scopeOf(scopes, "section:s|x").stages, [0]);
  assert.deepEqual(scopeOf(scopes, "outside").stages, [2]);
  assert.equal(scopeOf(scopes, "job:99").key, "all");
});

test("a search is text in any case, or a regular expression", () => {
  assert.equal(matcher("", false), null);
  assert.deepEqual([...matchFrames(["a.Leaf", "b.leaf", "c"], matcher("LEAF", false))], [1, 1, 0]);
  assert.deepEqual([...matchFrames(["a.Leaf", "b.leaf", "c"], matcher("^b|c$", true))], [0, 1, 1]);
  assert.throws(() => matcher("(", true), SyntaxError);
});
