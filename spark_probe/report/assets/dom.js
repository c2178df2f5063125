// Elements are built here and nowhere from HTML text: names in the data can only ever become text.

/** h("button", {class: "x", onclick: f, "aria-label": "…"}, "text", child, …) */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else if (key === "value" || key === "checked" || key === "selected" || key === "disabled") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/** A row of buttons of which one is pressed. options: [value, label, title?]. */
export function segmented(label, options, value, onchange) {
  const group = h("div", { class: "segmented", role: "group", "aria-label": label });
  const buttons = options.map(([key, text, title]) =>
    h("button", { type: "button", title, "data-value": key, onclick: () => onchange(key) }, text),
  );
  group.append(...buttons);
  group.select = (key) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.value === String(key))));
  };
  group.select(value);
  return group;
}

export function select(label, options, value, onchange) {
  const element = h(
    "select",
    { "aria-label": label, onchange: (event) => onchange(event.target.value) },
    options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text)),
  );
  return element;
}

export function debounce(action, ms) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), ms);
  };
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages opened from a file have no clipboard permission in some browsers.
    const area = h("textarea", { class: "offscreen", value: text });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
