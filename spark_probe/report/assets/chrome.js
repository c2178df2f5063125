// What every page has: the switch between light and dark.
import { h } from "./dom.js";
import { isDark } from "./palette.js";

export function themeButton() {
  const text = () => (isDark() ? "Light" : "Dark");
  const button = h(
    "button",
    {
      type: "button",
      class: "theme",
      "aria-label": "Switch between light and dark",
      onclick: () => {
        document.documentElement.dataset.theme = isDark() ? "light" : "dark";
        button.textContent = text();
        document.dispatchEvent(new Event("themechange"));
      },
    },
    text(),
  );
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    button.textContent = text();
    document.dispatchEvent(new Event("themechange"));
  });
  return button;
}
