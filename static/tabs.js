// Tabs of code are radio buttons, which work without this. A choice here holds for all tabs that
// have one of that name, on this page and the next.

(() => {
  const KEPT = "tacitus-tab";

  function choose(name) {
    for (const radio of document.querySelectorAll(".tabs > input[data-tab]")) {
      if (radio.dataset.tab === name) radio.checked = true;
    }
  }

  function kept() {
    try {
      return localStorage.getItem(KEPT);
    } catch {
      return null; // the browser keeps nothing for this site
    }
  }

  function keep(name) {
    try {
      localStorage.setItem(KEPT, name);
    } catch {
      // As above.
    }
  }

  document.addEventListener("change", ({ target }) => {
    const name = target.dataset?.tab;
    if (!name) return;
    const before = target.getBoundingClientRect().top;
    choose(name);
    keep(name);
    // Tabs above may have changed their height: what was clicked stays where it was.
    scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
  });
  choose(kept());
})();
