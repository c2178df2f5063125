// Numbers as people read them. Units: ns, ms, bytes, count.

const TIME_STEPS = [
  [3600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];
const BYTE_STEPS = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];
const COUNT_FORMAT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function digits(value) {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function stepped(value, steps, smallest) {
  const size = Math.abs(value);
  for (const [step, name] of steps) if (size >= step) return `${digits(value / step)} ${name}`;
  return `${COUNT_FORMAT.format(value)} ${smallest}`;
}

export const formatCount = (value) => COUNT_FORMAT.format(value);
export const formatNs = (value) => stepped(value, TIME_STEPS, "ns");
export const formatBytes = (value) => stepped(value, BYTE_STEPS, "B");

/** Milliseconds of wall time: 850 ms, 12.3 s, 4 min 05 s, 2 h 03 min. */
export function formatMs(ms) {
  if (ms === null || ms === undefined) return "–";
  if (Math.abs(ms) < 1000) return `${Math.round(ms)} ms`;
  if (Math.abs(ms) < 59_950) return `${digits(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const two = (n) => String(n).padStart(2, "0");
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

/** A value in its unit: "ns", "ms", "bytes", "samples" or any other countable word. */
export function formatValue(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "ns") return formatNs(value);
  if (unit === "ms") return formatMs(value);
  if (unit === "bytes") return formatBytes(value);
  return unit ? `${formatCount(value)} ${unit}` : formatCount(value);
}

export function formatPercent(part, whole) {
  if (!whole) return "–";
  const percent = (100 * part) / whole;
  if (percent !== 0 && Math.abs(percent) < 0.1) return percent < 0 ? ">-0.1 %" : "<0.1 %";
  return `${Math.abs(percent) >= 99.95 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** Epoch ms -> local date and time. */
export function formatDate(ms) {
  if (ms === null || ms === undefined) return "–";
  return new Date(ms).toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "medium" });
}

const JAVA_NAME = /^[A-Za-z_$][\w$]*(\.[A-Za-z_$<][\w$<>]*)+/;

/** `org.apache.spark.scheduler.Task.run` -> `Task.run`: class and method, for narrow places. */
export function shortName(name) {
  const head = JAVA_NAME.exec(name)?.[0];
  if (!head || /[-.]/.test(name.charAt(head.length))) return name; // a library, a version
  const type = head.lastIndexOf(".", head.lastIndexOf(".") - 1);
  return type < 0 ? name : name.slice(type + 1);
}
