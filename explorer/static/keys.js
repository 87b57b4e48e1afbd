// Keys: / to the search, j and k through the rows of lists, ? for the list of keys, where they can
// be turned off. Enter opens a row, because its link has the focus.

(() => {
  const STORAGE_KEY = "tacitus-keys";
  const ROWS = "main :is(.fact-table tbody tr, .list tbody tr, .rows > li)";

  const help = document.getElementById("key-help");
  const areOn = document.getElementById("keys-on");

  try {
    areOn.checked = localStorage.getItem(STORAGE_KEY) !== "off";
  } catch {
    // Storage is disabled: they are on.
  }
  areOn.addEventListener("change", () => {
    try {
      localStorage.setItem(STORAGE_KEY, areOn.checked ? "on" : "off");
    } catch {
      // It holds for this page alone.
    }
  });

  function move(step) {
    const rows = [...document.querySelectorAll(ROWS)].filter((row) => row.querySelector("a[href]"));
    const present = rows.findIndex((row) => row.contains(document.activeElement));
    const row = rows[present < 0 ? (step > 0 ? 0 : rows.length - 1) : present + step];
    row?.querySelector("a[href]").focus();
  }

  function search() {
    document.querySelector("input[type=search]").focus();
  }

  const KEYS = {
    "/": search,
    j: () => move(1),
    k: () => move(-1),
    "?": () => help.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (!areOn.checked || help.open || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.getElementById("show-keys").addEventListener("click", () => help.showModal());
})();
