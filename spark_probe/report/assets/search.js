// Which frames a search or a filter means.

/** A matcher of names for a text (any case) or a regular expression; null where there is nothing to match. */
export function matcher(text, isRegex) {
  if (!text) return null;
  if (isRegex) {
    const pattern = new RegExp(text);
    return (name) => pattern.test(name);
  }
  const low = text.toLowerCase();
  return (name) => name.toLowerCase().includes(low);
}

/** One byte a frame id: whether its name matches. */
export function matchFrames(names, matches) {
  return Uint8Array.from(names, (name) => (matches(name) ? 1 : 0));
}
