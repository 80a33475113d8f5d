/** Light, dark, or what the system wants. */

const PLACE = "graphtide.theme";

export type Theme = "light" | "dark" | "system";

export function theme(): Theme {
  const found = localStorage.getItem(PLACE);
  return found === "light" || found === "dark" ? found : "system";
}

export function applyTheme(next: Theme = theme()): void {
  if (next === "system") {
    localStorage.removeItem(PLACE);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(PLACE, next);
    document.documentElement.dataset.theme = next;
  }
}
