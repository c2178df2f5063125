// What the colours of a graph mean: those that it uses.
import { h } from "./dom.js";
import { categoryColour, diffColour, isDark, typeColour, typeText } from "./palette.js";

/** compare: {names} of a differential graph, or null; by: type | category | package; categories: [[key, label]]. */
export function legendItems({ compare, by, graph, frames, categories, categoryOf }) {
  const dark = isDark();
  const item = (fill, text) => h("span", {}, h("i", { style: { background: fill } }), text);
  if (compare) {
    const [a, b] = compare.names;
    return [item(diffColour(0.2, 0.6, dark), `more in ${b}`), item(diffColour(0.6, 0.2, dark), `less in ${b}, more in ${a}`), "shares of each side's own total"];
  }
  const used = new Set();
  if (by === "type") {
    for (let i = 1; i < graph.n; i++) used.add(frames.types[graph.frame[i]]);
    return [...used].sort((x, y) => x - y).map((type) => item(typeColour(frames.typeNames[type], dark), typeText(frames.typeNames[type])));
  }
  if (by === "category") {
    for (let i = 1; i < graph.n; i++) used.add(categoryOf(i));
    return [...used].sort((x, y) => x - y).map((code) => item(categoryColour(categories[code][0], dark), categories[code][1]));
  }
  return [];
}
