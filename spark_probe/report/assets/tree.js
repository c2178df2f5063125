// Call trees as columns. A tree is {n, frame, parent, depth, end}: node 0 is the root (frame -1),
// nodes stand in preorder (so a parent comes before its children), siblings in the order of their
// frame ids, and the subtree of node i is [i, end[i]).
// A graph is a tree with weights: `selfs` and `totals`, lists of one (or, compared, two) arrays.

/** From how many levels each node steps back (0: it is the child of the node before it). */
export function treeFromPops(pops, frames) {
  const n = frames.length + 1;
  const frame = new Int32Array(n);
  const parent = new Int32Array(n);
  const depth = new Int32Array(n);
  frame[0] = -1;
  parent[0] = -1;
  let at = 0;
  for (let i = 1; i < n; i++) {
    for (let pop = pops[i - 1]; pop > 0; pop--) at = parent[at];
    frame[i] = frames[i - 1];
    parent[i] = at;
    depth[i] = depth[at] + 1;
    at = i;
  }
  return { n, frame, parent, depth, end: subtreeEnds(parent, n) };
}

function subtreeEnds(parent, n) {
  const end = new Int32Array(n);
  for (let i = n - 1; i > 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    if (end[parent[i]] < end[i]) end[parent[i]] = end[i];
  }
  end[0] = n;
  return end;
}

/** Sums of a subtree: children come after their parent, in any order that keeps this. */
export function totalsOf(parent, self) {
  const total = Float64Array.from(self);
  for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

/** The tree with these self weights, without the nodes that carry none. */
export function prune(tree, selfs) {
  const all = selfs.map((self) => totalsOf(tree.parent, self));
  const keep = new Int32Array(tree.n).fill(-1);
  let n = 0;
  for (let i = 0; i < tree.n; i++) {
    let carries = i === 0;
    for (const total of all) carries = carries || total[i] !== 0;
    if (carries) keep[i] = n++;
  }
  const graph = {
    n,
    frame: new Int32Array(n),
    parent: new Int32Array(n),
    depth: new Int32Array(n),
    selfs: selfs.map(() => new Float64Array(n)),
    totals: selfs.map(() => new Float64Array(n)),
  };
  for (let i = 0; i < tree.n; i++) {
    const j = keep[i];
    if (j < 0) continue;
    graph.frame[j] = tree.frame[i];
    graph.parent[j] = i === 0 ? -1 : keep[tree.parent[i]];
    graph.depth[j] = tree.depth[i];
    for (let k = 0; k < selfs.length; k++) {
      graph.selfs[k][j] = selfs[k][i];
      graph.totals[k][j] = all[k][i];
    }
  }
  graph.end = subtreeEnds(graph.parent, n);
  return graph;
}

/** A growing tree: child(parent, frame) finds or makes it. Open addressing over typed arrays. */
export class TreeBuilder {
  constructor(weights, capacity = 1024) {
    this.weights = weights;
    this.n = 1;
    this.frame = new Int32Array(capacity).fill(-1, 0, 1);
    this.parent = new Int32Array(capacity).fill(-1, 0, 1);
    this.selfs = Array.from({ length: weights }, () => new Float64Array(capacity));
    this.table = new Int32Array(capacity * 2);
  }

  static slot(parent, frame, mask) {
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    return Math.imul(hash, 0x2c1b3c6d) & mask;
  }

  child(parent, frame) {
    if (this.n === this.frame.length) this.grow();
    const mask = this.table.length - 1;
    let slot = TreeBuilder.slot(parent, frame, mask);
    for (let node = this.table[slot]; node !== 0; node = this.table[slot]) {
      if (this.parent[node] === parent && this.frame[node] === frame) return node;
      slot = (slot + 1) & mask;
    }
    const node = this.n++;
    this.table[slot] = node;
    this.parent[node] = parent;
    this.frame[node] = frame;
    return node;
  }

  grow() {
    const capacity = this.frame.length * 2;
    const wider = (Type, old) => {
      const array = new Type(capacity);
      array.set(old);
      return array;
    };
    this.frame = wider(Int32Array, this.frame);
    this.parent = wider(Int32Array, this.parent);
    this.selfs = this.selfs.map((self) => wider(Float64Array, self));
    this.table = new Int32Array(capacity * 2);
    const mask = this.table.length - 1;
    for (let node = 1; node < this.n; node++) {
      let slot = TreeBuilder.slot(this.parent[node], this.frame[node], mask);
      while (this.table[slot] !== 0) slot = (slot + 1) & mask;
      this.table[slot] = node;
    }
  }

  /** The graph in preorder, siblings by frame id. */
  finish() {
    const n = this.n;
    const parent = this.parent.subarray(0, n);
    const frame = this.frame.subarray(0, n);
    const first = new Int32Array(n);
    const next = new Int32Array(n);
    for (const node of descending(frame)) {
      next[node] = first[parent[node]];
      first[parent[node]] = node;
    }
    const tree = { n, frame: new Int32Array(n), parent: new Int32Array(n), depth: new Int32Array(n) };
    const selfs = this.selfs.map(() => new Float64Array(n));
    const place = new Int32Array(n);
    let at = 0;
    for (let node = 0; node >= 0; ) {
      const i = at++;
      place[node] = i;
      tree.frame[i] = frame[node];
      tree.parent[i] = node === 0 ? -1 : place[parent[node]];
      tree.depth[i] = node === 0 ? 0 : tree.depth[tree.parent[i]] + 1;
      for (let k = 0; k < selfs.length; k++) selfs[k][i] = this.selfs[k][node];
      if (first[node]) {
        node = first[node];
        continue;
      }
      while (node > 0 && !next[node]) node = parent[node];
      node = node > 0 ? next[node] : -1;
    }
    return prune(tree, selfs);
  }
}

/** The nodes but the root, by descending frame id: a counting sort. */
function descending(frame) {
  let most = 0;
  for (let i = 1; i < frame.length; i++) if (frame[i] > most) most = frame[i];
  const place = new Int32Array(most + 2);
  for (let i = 1; i < frame.length; i++) place[most - frame[i] + 1]++;
  for (let i = 1; i < place.length; i++) place[i] += place[i - 1];
  const order = new Int32Array(frame.length - 1);
  for (let i = 1; i < frame.length; i++) order[place[most - frame[i]]++] = i;
  return order;
}

/** What to do with a frame, as bits of the `flags` array that has one entry a frame id. */
export const HIDE = 1;
export const FOCUS = 2;
export const INCLUDE = 4;
export const EXCLUDE = 8;

/**
 * The graph after the user's filters, in one pass from the root.
 * flags: bits a frame. HIDE takes the frame out and joins its children to its caller; FOCUS starts
 * every stack at its first such frame and drops the stacks without one; INCLUDE keeps only the
 * stacks with such a frame; EXCLUDE drops the stacks with one. recursion: a frame that calls itself,
 * directly or not, is merged into its outermost call.
 */
export function derive(graph, flags, { focus = false, include = false, recursion = false } = {}) {
  const { n, frame, parent, selfs } = graph;
  const builder = new TreeBuilder(selfs.length, 1 << Math.max(4, Math.ceil(Math.log2(n + 1))));
  const target = new Int32Array(n);
  const seen = new Uint8Array(n); // 1: focused, 2: included, 4: excluded
  for (let i = 0; i < n; i++) {
    let bits = i === 0 ? 0 : seen[parent[i]];
    let to = i === 0 ? 0 : target[parent[i]];
    if (i > 0) {
      const flag = flags[frame[i]];
      if (flag & FOCUS) bits |= 1;
      if (flag & INCLUDE) bits |= 2;
      if (flag & EXCLUDE) bits |= 4;
      if (!(flag & HIDE) && (!focus || bits & 1)) {
        let outer = -1;
        if (recursion) for (let up = to; up > 0 && outer < 0; up = builder.parent[up]) if (builder.frame[up] === frame[i]) outer = up;
        to = outer >= 0 ? outer : builder.child(to, frame[i]);
      }
    }
    seen[i] = bits;
    target[i] = to;
    if ((focus && !(bits & 1)) || (include && !(bits & 2)) || bits & 4) continue;
    for (let k = 0; k < selfs.length; k++) builder.selfs[k][to] += selfs[k][i];
  }
  return builder.finish();
}

/** Over this many steps, callers of tiny groups are left unexpanded (their sums stay). */
const REVERSE_BUDGET = 2_000_000;
const REVERSE_FLOOR = 1 / 20_000;

/**
 * Callers first: every stack turned over, so that the leaves are at the root.
 * With `from` (a frame id) the stacks end at their outermost call of it: the callers of that frame.
 * `cut` of the graph is the share below which callers were left unexpanded, 0 where all are there.
 */
export function reverse(graph, from = -1) {
  const { n, frame, parent, depth, selfs, totals } = graph;
  const starts = [];
  if (from >= 0) {
    for (let i = 1; i < n; ) {
      if (frame[i] === from) {
        starts.push(i);
        i = graph.end[i];
      } else i++;
    }
  } else for (let i = 1; i < n; i++) if (selfs.some((self) => self[i] !== 0)) starts.push(i);
  const weights = from >= 0 ? totals : selfs;
  let steps = 0;
  for (const start of starts) steps += depth[start];
  const whole = totals.reduce((sum, total) => sum + total[0], 0);
  const floor = steps > REVERSE_BUDGET ? whole * REVERSE_FLOOR : 0;

  const builder = new TreeBuilder(selfs.length, 1 << Math.max(4, Math.ceil(Math.log2(starts.length + 1))));
  let cursors = Int32Array.from(starts);
  let origin = Int32Array.from(starts);
  let at = new Int32Array(starts.length);
  while (cursors.length) {
    const before = builder.n; // every node of this level is a new one
    for (let i = 0; i < cursors.length; i++) {
      at[i] = builder.child(at[i], frame[cursors[i]]);
      cursors[i] = parent[cursors[i]];
    }
    const reach = new Float64Array(floor ? builder.n - before : 0);
    if (floor) for (let i = 0; i < at.length; i++) for (const weight of weights) reach[at[i] - before] += weight[origin[i]];
    let kept = 0;
    for (let i = 0; i < cursors.length; i++) {
      // A stack that goes on alone below the floor ends here; its weight stays at this frame.
      if (cursors[i] > 0 && (!floor || reach[at[i] - before] >= floor)) {
        cursors[kept] = cursors[i];
        origin[kept] = origin[i];
        at[kept++] = at[i];
      } else for (let k = 0; k < weights.length; k++) builder.selfs[k][at[i]] += weights[k][origin[i]];
    }
    cursors = cursors.subarray(0, kept);
    origin = origin.subarray(0, kept);
    at = at.subarray(0, kept);
  }
  return Object.assign(builder.finish(), { cut: floor ? REVERSE_FLOOR : 0 });
}

/** One row a frame: self and total of each weight; a recursive frame counts a sample once. */
export function frameSums(graph, frameCount) {
  const { n, frame, depth, selfs, totals } = graph;
  const self = selfs.map(() => new Float64Array(frameCount));
  const total = selfs.map(() => new Float64Array(frameCount));
  const onPath = new Int32Array(frameCount);
  const path = [];
  for (let i = 1; i < n; i++) {
    while (path.length && depth[path[path.length - 1]] >= depth[i]) onPath[frame[path.pop()]]--;
    const f = frame[i];
    for (let k = 0; k < selfs.length; k++) {
      self[k][f] += selfs[k][i];
      if (onPath[f] === 0) total[k][f] += totals[k][i];
    }
    onPath[f]++;
    path.push(i);
  }
  return { self, total };
}

/** Sum of the samples whose stack has a frame in `matched` (one byte a frame id), under node `from`. */
export function matchedTotal(graph, matched, from = 0, k = 0) {
  let sum = 0;
  for (let i = from; i < graph.end[from]; ) {
    if (i > 0 && matched[graph.frame[i]]) {
      sum += graph.totals[k][i];
      i = graph.end[i];
    } else i++;
  }
  return sum;
}

/** Path of a node from the root's child down to it. */
export function pathTo(graph, node) {
  const path = [];
  for (let i = node; i > 0; i = graph.parent[i]) path.push(i);
  return path.reverse();
}

/** A short name for a node's path, the same in every graph of the page: for links. */
export function pathKeys(graph) {
  const keys = new Uint32Array(graph.n);
  for (let i = 1; i < graph.n; i++) {
    let hash = Math.imul(keys[graph.parent[i]] ^ (graph.frame[i] + 1), 0x01000193);
    hash ^= hash >>> 13;
    keys[i] = Math.imul(hash, 0x5bd1e995) >>> 0;
  }
  return keys;
}

/** Folded stacks of the subtree of `from`, root first, as everyone's flame-graph tools read them. */
export function folded(graph, names, from = 0, k = 0) {
  const lines = [];
  const path = pathTo(graph, from).slice(0, -1).map((i) => names[graph.frame[i]]);
  const base = Math.max(0, graph.depth[from] - 1);
  for (let i = from; i < graph.end[from]; i++) {
    if (i > 0) path.length = Math.max(base, graph.depth[i] - 1);
    if (i > 0) path.push(names[graph.frame[i]].replaceAll(";", ":"));
    if (graph.selfs[k][i] > 0 && i > 0) lines.push(`${path.join(";")} ${graph.selfs[k][i]}`);
  }
  return lines.length ? lines.join("\n") + "\n" : "";
}
