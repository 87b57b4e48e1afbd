// Tabs are radio buttons and work without this script, which applies a choice to all tabs of the
// same name, on this page and the next.

(() => {
  const STORAGE_KEY = "tacitus-tab";

  function select(name) {
    for (const radio of document.querySelectorAll(".tabs > input[data-tab]")) {
      if (radio.dataset.tab === name) radio.checked = true;
    }
  }

  function storedTab() {
    try {
      return localStorage.getItem(STORAGE_KEY);
    } catch {
      return null; // storage is disabled
    }
  }

  function store(name) {
    try {
      localStorage.setItem(STORAGE_KEY, name);
    } catch {
      // As above.
    }
  }

  document.addEventListener("change", ({ target }) => {
    const name = target.dataset?.tab;
    if (!name) return;
    const before = target.getBoundingClientRect().top;
    select(name);
    store(name);
    // Tabs above may have changed their height; keep the clicked tab in place.
    scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
  });
  select(storedTab());

  // The anchor of a section that is on a page of its own is a link to it.
  function followAnchor() {
    const link = document.getElementById(location.hash.slice(1));
    if (link?.matches("a[href]")) location.replace(link.href);
  }
  addEventListener("hashchange", followAnchor);
  followAnchor();
})();
