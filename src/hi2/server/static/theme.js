// Is the page light or dark? As the system says, until a person chooses. Loaded before the page is drawn.
(() => {
  "use strict";
  const KEY = "hi2-theme";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function chosen() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage may be switched off
    }
  }

  function apply(choice) {
    const theme = choice === "light" || choice === "dark" ? choice : dark.matches ? "dark" : "light";
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.setAttribute("aria-pressed", String(theme === "dark"));
    }
  }

  function toggle() {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    apply(theme);
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // the choice holds until the page is left
    }
  }

  apply(chosen());
  dark.addEventListener("change", () => apply(chosen()));
  document.addEventListener("DOMContentLoaded", () => {
    apply(chosen());
    document.getElementById("theme").addEventListener("click", toggle);
  });
})();
