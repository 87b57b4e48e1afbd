// Light or dark, if the visitor chose one at the foot of a page. Runs before the page is drawn.

(() => {
  const STORAGE_KEY = "tacitus-theme";

  function storedTheme() {
    try {
      return localStorage.getItem(STORAGE_KEY) ?? "";
    } catch {
      return ""; // storage is disabled
    }
  }

  function show(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }

  show(storedTheme());
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    choice.value = storedTheme();
    choice.addEventListener("change", () => {
      show(choice.value);
      try {
        localStorage.setItem(STORAGE_KEY, choice.value);
      } catch {
        // It holds for this page alone.
      }
    });
  });
})();
