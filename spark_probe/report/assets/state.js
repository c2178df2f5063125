// What the page shows, kept in the URL fragment: a link shows the same thing.

/** Parses "#a=1&b=x" to an object of strings. */
export function parseFragment(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

export function formatFragment(values) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== "" && value !== null && value !== undefined && value !== false) parameters.set(key, value === true ? "1" : value);
  }
  const text = parameters.toString();
  return text ? `#${text}` : "";
}

export class PageState {
  constructor(onchange) {
    this.values = parseFragment(location.hash);
    window.addEventListener("hashchange", () => {
      this.values = parseFragment(location.hash);
      onchange();
    });
  }

  /** push: a step that the browser's Back undoes; otherwise the present entry is replaced. */
  write(values, push = false) {
    this.values = values;
    const fragment = formatFragment(values);
    if (fragment === location.hash) return;
    const url = fragment || location.pathname + location.search;
    try {
      if (push) history.pushState(null, "", url);
      else history.replaceState(null, "", url);
    } catch {
      // A page inside a notebook's frame may not touch its history: the view still works.
    }
  }
}
