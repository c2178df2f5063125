// Colours of frames: by type, by category, by package, or by difference. One place for light and dark.

// hue, saturation of each frame type of FORMAT.md.
const TYPE_HUES = {
  jit: [142, 42],
  inlined: [176, 38],
  c1: [84, 45],
  interpreted: [66, 45],
  native: [4, 70],
  cpp: [46, 75],
  kernel: [26, 85],
  class: [268, 45],
  python: [212, 65],
};
const TYPE_TEXT = {
  jit: "Java, compiled (C2)",
  inlined: "Java, inlined",
  c1: "Java, compiled (C1)",
  interpreted: "Java, interpreted",
  native: "native",
  cpp: "JVM (C++)",
  kernel: "kernel",
  class: "class (allocated or locked)",
  python: "Python",
  kind: "kind of thread",
};
// hue, saturation of each category of categories.toml, by its key.
const CATEGORY_HUES = {
  business: [142, 45],
  serialization: [44, 80],
  compression: [28, 80],
  shuffle_read: [200, 60],
  shuffle_write: [222, 60],
  sort_aggregate: [262, 50],
  codegen_jit: [320, 45],
  gc: [4, 75],
  io_network: [180, 50],
  lock: [350, 55],
  python: [212, 85],
  scheduling: [90, 35],
  other: [220, 6],
};
const NEUTRAL = [220, 8];
const VARIANTS = 5;

function colour([hue, saturation], dark, variant) {
  const light = dark ? 30 + variant * 2.2 : 78 - variant * 2.4;
  return `hsl(${hue} ${dark ? saturation * 0.7 : saturation}% ${light}%)`;
}

function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

export const typeText = (type) => TYPE_TEXT[type] ?? type;
export const categoryColour = (key, dark) => colour(CATEGORY_HUES[key] ?? NEUTRAL, dark, dark ? 5 : 4);
export const typeColour = (type, dark) => colour(TYPE_HUES[type] ?? NEUTRAL, dark, 2);

/** The package (or library) of a frame, to two levels: `org.apache`, `java.util`, `libjvm.so`. */
export function packageOf(name) {
  const parts = name.split(/[.(]/);
  return parts.length > 3 ? `${parts[0]}.${parts[1]}.${parts[2]}` : parts.slice(0, 2).join(".");
}

/**
 * Painters give the fill of a node. `by`: type | category | package.
 * frames: {names, types, typeNames, categories}; categoryOf(node): index into categoryKeys.
 */
export function framePainter(by, frames, dark, categoryKeys, categoryOf) {
  const cache = new Map();
  const cached = (key, hue, variant) => {
    const id = `${key}/${variant}`;
    let fill = cache.get(id);
    if (!fill) cache.set(id, (fill = colour(hue, dark, variant)));
    return fill;
  };
  const variants = Uint8Array.from(frames.names, (name) => hash(name) % VARIANTS);
  if (by === "category") {
    return (node, frame) => {
      const key = categoryKeys[categoryOf(node)];
      return cached(key, CATEGORY_HUES[key] ?? NEUTRAL, variants[frame]);
    };
  }
  if (by === "package") {
    const hues = frames.names.map((name) => [hash(packageOf(name)) % 360, 48]);
    return (node, frame) => cached(hues[frame][0], hues[frame], variants[frame]);
  }
  return (node, frame) => {
    const type = frames.typeNames[frames.types[frame]];
    return cached(type, TYPE_HUES[type] ?? NEUTRAL, variants[frame]);
  };
}

/** Difference of shares: red where b takes more than a, blue where less; white where alike. */
export function diffColour(a, b, dark) {
  const delta = b - a;
  const strength = Math.min(1, Math.sqrt(Math.abs(delta) / Math.max(a, b, 1e-9)) * Math.min(1, Math.sqrt(Math.abs(delta) * 40)));
  const step = Math.round(strength * 12) / 12;
  const hue = delta > 0 ? 6 : 214;
  return dark
    ? `hsl(${hue} ${Math.round(65 * step)}% ${30 + Math.round(8 * step)}%)`
    : `hsl(${hue} ${Math.round(85 * step)}% ${93 - Math.round(25 * step)}%)`;
}

export function isDark() {
  const theme = document.documentElement.dataset.theme;
  if (theme) return theme === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}
