// The rows of the page: who spent what at which node of the one tree. Every graph is a choice of rows.

export const SAMPLES = "samples";
export const VALUE = "value";

export class Store {
  /** rows: columns of the page's block, sorted by stage and event; tree: the tree of all stacks. */
  constructor(rows, tree) {
    this.rows = rows;
    this.tree = tree;
    this.ranges = new Map(); // stage -> [event, start, end]
    const { stage, event } = rows;
    for (let start = 0; start < stage.length; ) {
      let end = start + 1;
      while (end < stage.length && stage[end] === stage[start] && event[end] === event[start]) end++;
      const list = this.ranges.get(stage[start]) ?? [];
      list.push([event[start], start, end]);
      this.ranges.set(stage[start], list);
      start = end;
    }
  }

  /** Calls each(row) for the rows of a selection {stages, event, tasks, from, to, state, burst}. */
  forEach({ stages, event, tasks = null, from = null, to = null, state = null, burst = null }, each) {
    const { task, bucket, state: states, burst: bursts } = this.rows;
    for (const index of stages) {
      for (const [code, start, end] of this.ranges.get(index) ?? []) {
        if (code !== event) continue;
        for (let row = start; row < end; row++) {
          if (tasks !== null && !tasks.has(task[row])) continue;
          if (from !== null && (bucket[row] < from || bucket[row] > to)) continue;
          if (state !== null && states[row] !== state) continue;
          if (burst !== null && bursts[row] !== burst) continue;
          each(row);
        }
      }
    }
  }

  /** Self weights of the whole tree's nodes for a selection. measure: "value" or "samples". */
  weights(selection, measure) {
    const self = new Float64Array(this.tree.n);
    const column = this.rows[measure];
    const { node } = this.rows;
    this.forEach(selection, (row) => {
      self[node[row]] += column[row];
    });
    return self;
  }

  /** Sum of a selection in each time bucket: {first, sums}, or null where no row has a time. */
  overTime(selection, measure) {
    const { bucket } = this.rows;
    const column = this.rows[measure];
    let first = Infinity;
    let last = -Infinity;
    this.forEach(selection, (row) => {
      const b = bucket[row];
      if (b < 0) return;
      if (b < first) first = b;
      if (b > last) last = b;
    });
    if (last < first) return null;
    const sums = new Float64Array(last - first + 1);
    this.forEach(selection, (row) => {
      if (bucket[row] >= 0) sums[bucket[row] - first] += column[row];
    });
    return { first, sums };
  }

  /** The states (codes) that the rows of a selection have. */
  statesOf(selection) {
    const found = new Set();
    this.forEach(selection, (row) => found.add(this.rows.state[row]));
    return found;
  }

  /** The events (codes) that any of these stages has samples of. */
  eventsOf(stages) {
    const found = new Set();
    for (const index of stages) for (const [code] of this.ranges.get(index) ?? []) found.add(code);
    return found;
  }
}
