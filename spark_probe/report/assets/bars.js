// Bars of categories, and small pieces that more than one view shows.
import { h } from "./dom.js";
import { formatPercent } from "./format.js";
import { categoryColour, isDark } from "./palette.js";

/** values: one number a category. The bar's parts have titles; with `labels` a key stands below. */
export function categoryBar(categories, values, { labels = false } = {}) {
  const dark = isDark();
  const total = values.reduce((a, b) => a + b, 0);
  const parts = categories.map(([key, label], i) => ({ key, label, value: values[i] })).filter((part) => part.value > 0);
  const bar = h(
    "div",
    { class: "catbar", role: "img", "aria-label": parts.map((p) => `${p.label} ${formatPercent(p.value, total)}`).join(", ") },
    parts.map((p) =>
      h("i", { title: `${p.label} ${formatPercent(p.value, total)}`, style: { width: `${(100 * p.value) / total}%`, background: categoryColour(p.key, dark) } }),
    ),
  );
  if (!labels) return bar;
  const ranked = [...parts].sort((a, b) => b.value - a.value);
  return h(
    "div",
    {},
    bar,
    h(
      "ul",
      { class: "key" },
      ranked.map((p) =>
        h("li", { "data-category": p.key, "data-value": p.value }, h("i", { style: { background: categoryColour(p.key, dark) } }), p.label, h("b", {}, formatPercent(p.value, total))),
      ),
    ),
  );
}

export function addUp(lists, length) {
  const sums = new Array(length).fill(0);
  for (const list of lists) if (list) list.forEach((value, i) => (sums[i] += value));
  return sums;
}
