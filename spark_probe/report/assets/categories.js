// The category of each node, by the rule that categories.py documents: the innermost frame that has
// one, and for frames that wait, the innermost caller that claims it.

const NONE = 63;
const WAITS = 64;
const CLAIMS = 128;

/** codes: one a frame id, as in the page's data. leafFirst: the graph is turned over (callers). */
export function nodeCategories(graph, codes, other, leafFirst = false) {
  const { n, frame, parent } = graph;
  const category = new Uint8Array(n).fill(NONE);
  const claim = new Uint8Array(n).fill(NONE);
  for (let i = 1; i < n; i++) {
    const code = codes[frame[i]];
    const own = code & NONE;
    const inherited = category[parent[i]];
    if (leafFirst) {
      category[i] = inherited === NONE ? own : inherited;
      continue;
    }
    const claimed = claim[parent[i]];
    category[i] = own === NONE ? inherited : code & WAITS && claimed !== NONE ? claimed : own;
    claim[i] = code & CLAIMS ? own : claimed;
  }
  for (let i = 0; i < n; i++) if (category[i] === NONE) category[i] = other;
  return category;
}
