// The table of hottest frames: self and total, sortable; with two weights it is the table of what grew.
import { h, replace } from "./dom.js";
import { formatPercent, formatValue, shortName } from "./format.js";
import { frameSums } from "./tree.js";

const ROWS = 60;

const share = (value, whole) => (whole ? value / whole : 0);
const points = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(100 * value).toFixed(1)} pp`;

/**
 * options: {onPick(frame), onSandwich(frame)}. update() takes {graph, frames, unit, whole, compare, matched}:
 * whole is the total of each weight that percents are of.
 */
export class HotTable {
  constructor(options) {
    this.options = options;
    this.sort = "self";
    this.body = h("tbody");
    this.head = h("thead");
    this.more = h("p", { class: "quiet" });
    this.element = h(
      "section",
      { class: "hot", "aria-label": "Hottest frames" },
      h("div", { class: "scroll" }, h("table", { class: "hot-table" }, this.head, this.body)),
      this.more,
    );
  }

  update(input) {
    this.input = input;
    this.sums = frameSums(input.graph, input.frames.names.length);
    this.render();
  }

  column(key, text, title) {
    const pressed = this.sort === key;
    return h(
      "th",
      { scope: "col", class: "number", "aria-sort": pressed ? "descending" : "none" },
      h("button", { type: "button", title, onclick: () => this.sortBy(key) }, text),
    );
  }

  sortBy(key) {
    this.sort = key;
    this.render();
  }

  render() {
    const { frames, compare, whole, matched } = this.input;
    const { self, total } = this.sums;
    const order = [];
    for (let f = 0; f < frames.names.length; f++) {
      if (total.some((column) => column[f] > 0) && (!matched || matched[f])) order.push(f);
    }
    if (compare) this.renderGrown(order, self, total, whole, compare);
    else {
      const by = this.sort === "total" ? total[0] : self[0];
      const other = this.sort === "total" ? self[0] : total[0];
      order.sort((a, b) => by[b] - by[a] || other[b] - other[a]);
      replace(
        this.head,
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Frame"),
          this.column("self", "Self", "Samples whose innermost frame this is"),
          this.column("total", "Total", "Samples with this frame anywhere on the stack, each counted once"),
        ),
      );
      replace(
        this.body,
        order.slice(0, ROWS).map((f) => this.row(f, [this.cell(self[0][f], whole[0]), this.cell(total[0][f], whole[0])])),
      );
    }
    this.more.textContent = order.length > ROWS ? `${ROWS} of ${order.length} frames; search narrows the table` : "";
  }

  renderGrown(order, self, total, whole, compare) {
    if (this.sort !== "total") this.sort = "self";
    const column = this.sort === "total" ? total : self;
    const grew = (f) => share(column[1][f], whole[1]) - share(column[0][f], whole[0]);
    order.sort((a, b) => Math.abs(grew(b)) - Math.abs(grew(a)));
    replace(
      this.head,
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Frame"),
        h("th", { scope: "col", class: "number" }, compare.names[0]),
        h("th", { scope: "col", class: "number" }, compare.names[1]),
        this.column("self", "Δ self", "Change of the share of self samples, in percentage points"),
        this.column("total", "Δ total", "Change of the share of total samples, in percentage points"),
      ),
    );
    const change = (sums, f) => {
      const delta = share(sums[1][f], whole[1]) - share(sums[0][f], whole[0]);
      return h("td", { class: `number ${delta > 0.0005 ? "grew" : delta < -0.0005 ? "shrank" : ""}` }, points(delta));
    };
    replace(
      this.body,
      order.slice(0, ROWS).map((f) =>
        this.row(f, [
          h("td", { class: "number" }, formatPercent(column[0][f], whole[0])),
          h("td", { class: "number" }, formatPercent(column[1][f], whole[1])),
          change(self, f),
          change(total, f),
        ]),
      ),
    );
  }

  cell(value, whole) {
    const { unit } = this.input;
    return h(
      "td",
      { class: "number", title: formatValue(value, unit), "data-value": value },
      h("span", { class: "bar", style: { width: `${Math.min(100, 100 * share(value, whole))}%` } }),
      h("span", { class: "over" }, formatPercent(value, whole)),
    );
  }

  row(f, cells) {
    const name = this.input.frames.names[f];
    return h(
      "tr",
      { "data-frame": name },
      h(
        "th",
        { scope: "row", title: name },
        h("button", { type: "button", class: "frame", onclick: () => this.options.onPick(f) }, shortName(name)),
      ),
      cells,
    );
  }
}
