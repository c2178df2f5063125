import assert from "node:assert/strict";
import { test } from "node:test";
import { EXCLUDE, FOCUS, HIDE, INCLUDE, TreeBuilder, derive, folded, frameSums, matchedTotal, pathKeys, pathTo, prune, reverse, treeFromPops } from "../../spark_probe/report/assets/tree.js";

const NAMES = ["a", "b", "c", "d"];

/** A graph of folded stacks such as {"a;b": 3}. */
function graphOf(...weights) {
  const builder = new TreeBuilder(weights.length, 16);
  weights.forEach((stacks, k) => {
    for (const [stack, value] of Object.entries(stacks)) {
      let node = 0;
      for (const name of stack.split(";")) node = builder.child(node, NAMES.indexOf(name));
      builder.selfs[k][node] += value;
    }
  });
  return builder.finish();
}

const text = (graph, k = 0) => Object.fromEntries(folded(graph, NAMES, 0, k).trim().split("\n").filter(Boolean).map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
const flags = (...pairs) => {
  const out = new Uint8Array(NAMES.length);
  for (const [name, bit] of pairs) out[NAMES.indexOf(name)] |= bit;
  return out;
};

test("a tree from its steps back", () => {
  // root -> a(b(c), d), b
  const tree = treeFromPops([0, 0, 0, 2, 2], [0, 1, 2, 3, 1]);
  assert.deepEqual([...tree.parent], [-1, 0, 1, 2, 1, 0]);
  assert.deepEqual([...tree.depth], [0, 1, 2, 3, 2, 1]);
  assert.deepEqual([...tree.end], [6, 5, 4, 4, 5, 6]);
});

test("the builder gives preorder, siblings by frame id, and survives growth", () => {
  const stacks = {};
  for (let i = 0; i < 500; i++) stacks[Array.from({ length: 1 + (i % 9) }, (_, j) => NAMES[(i >> j) & 3]).join(";")] = i + 1;
  const graph = graphOf(stacks);
  for (let i = 1; i < graph.n; i++) {
    assert.ok(graph.parent[i] < i);
    assert.equal(graph.depth[i], graph.depth[graph.parent[i]] + 1);
    const next = graph.end[i];
    if (next < graph.end[graph.parent[i]]) assert.ok(graph.frame[next] > graph.frame[i]);
  }
  assert.deepEqual(text(graph), stacks);
});

test("prune drops what carries nothing and keeps every sum", () => {
  const tree = graphOf({ "a;b": 1, "a;c": 2, d: 3 });
  const self = Float64Array.from(tree.selfs[0], (value, i) => (tree.frame[i] === 3 ? 0 : value));
  const pruned = prune(tree, [self]);
  assert.equal(pruned.n, 4);
  assert.equal(pruned.totals[0][0], 3);
  assert.deepEqual(text(pruned), { "a;b": 1, "a;c": 2 });
});

test("hide joins a frame's callees to its caller", () => {
  const graph = derive(graphOf({ "a;b;c": 1, "a;c": 2, "a;b": 4 }), flags(["b", HIDE]));
  assert.deepEqual(text(graph), { "a;c": 3, a: 4 });
});

test("focus starts stacks at the frame and drops the others", () => {
  const graph = derive(graphOf({ "a;b;c": 1, "c;b": 2, "a;c": 8, "b;a;b": 16 }), flags(["b", FOCUS]), { focus: true });
  assert.deepEqual(text(graph), { "b;c": 1, b: 2, "b;a;b": 16 });
});

test("include keeps and exclude drops whole stacks", () => {
  const base = { "a;b": 1, "a;c": 2, d: 4, "a;b;d": 8 };
  assert.deepEqual(text(derive(graphOf(base), flags(["b", INCLUDE]), { include: true })), { "a;b": 1, "a;b;d": 8 });
  assert.deepEqual(text(derive(graphOf(base), flags(["d", EXCLUDE]))), { "a;b": 1, "a;c": 2 });
});

test("recursion is merged into the outermost call, direct or not", () => {
  const graph = derive(graphOf({ "a;a;a;b": 1, "a;b;a;c": 2 }), flags(), { recursion: true });
  assert.deepEqual(text(graph), { "a;b": 1, "a;c": 2 });
});

test("callers: every stack turned over, sums kept", () => {
  assert.deepEqual(text(reverse(graphOf({ "a;b": 1, "c;b": 2, "a;b;c": 4, a: 8 }))), { "b;a": 1, "b;c": 2, "c;b;a": 4, a: 8 });
});

test("callers of one frame count a recursive stack once, from its outermost call", () => {
  const callers = reverse(graphOf({ "a;b;c;b": 1, "d;b": 2, "c;a": 4 }), NAMES.indexOf("b"));
  assert.deepEqual(text(callers), { "b;a": 1, "b;d": 2 });
  assert.equal(callers.totals[0][0], 3);
});

test("frame sums count a recursive frame once in its total", () => {
  const { self, total } = frameSums(graphOf({ "a;b;a": 3, "a;b": 4 }), NAMES.length);
  assert.deepEqual([...self[0]], [3, 4, 0, 0]);
  assert.deepEqual([...total[0]], [7, 7, 0, 0]);
});

test("matched totals count no sample twice", () => {
  const graph = graphOf({ "a;b;c": 1, "a;c": 2, b: 4, d: 8 });
  const matched = Uint8Array.from([0, 1, 1, 0]);
  assert.equal(matchedTotal(graph, matched), 7);
  const a = [...graph.frame].indexOf(0);
  assert.equal(matchedTotal(graph, matched, a), 3);
});

test("two weights stay apart through every change", () => {
  const graph = graphOf({ "a;b": 1 }, { "a;b": 10, "a;c": 20 });
  assert.deepEqual(text(derive(graph, flags(["a", HIDE])), 1), { b: 10, c: 20 });
  assert.deepEqual(text(reverse(graph), 0), { "b;a": 1 });
  assert.deepEqual(text(reverse(graph), 1), { "b;a": 10, "c;a": 20 });
});

test("folded stacks of a subtree keep the path above it; semicolons in names do not split them", () => {
  const graph = graphOf({ "a;b": 1, "a;c": 2, d: 3 });
  const a = [...graph.frame].indexOf(0);
  assert.equal(folded(graph, ["x;y", "b", "c", "d"], a), "x:y;b 1\nx:y;c 2\n");
});

test("path keys are the same for the same path in another graph", () => {
  const one = graphOf({ "a;b": 1, "a;c": 2 });
  const two = graphOf({ "a;c": 9, d: 1 });
  const key = (graph, leaf) => pathKeys(graph)[[...graph.frame].indexOf(NAMES.indexOf(leaf))];
  assert.equal(key(one, "c"), key(two, "c"));
  assert.notEqual(key(one, "b"), key(one, "c"));
  assert.deepEqual(pathTo(one, 2).map((node) => NAMES[one.frame[node]]), ["a", "b"]);
});
