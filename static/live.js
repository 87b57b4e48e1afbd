// A live page: sends the marks of its parts and what is open, so that the server returns only the
// changed parts.

const live = document.getElementById("live");

function seenMarks() {
  return [...document.querySelectorAll("[data-mark]")].map((part) => part.dataset.mark).join(".");
}

function openBlocks() {
  const blocks = [...document.querySelectorAll("details[data-block][open]")];
  return blocks
    .map((block) => [block.dataset.block, block.querySelector("[data-from]")?.dataset.from])
    .filter(([, from]) => from !== undefined)
    .map(([block, from]) => `${block}:${from}`)
    .join(",");
}

// Places of open queries; other queries get only new marks.
function openQueries() {
  return [...document.querySelectorAll("[data-row]")].map((row) => row.dataset.row).join(",");
}

// For other tabs and screen readers.
function announce() {
  const state = document.getElementById("state");
  if (document.title !== state.dataset.title) document.title = state.dataset.title;
  const { announcement } = state.dataset;
  if (announcement) document.getElementById("announcement").textContent = announcement;
}

function showLiveness(text) {
  const mark = document.querySelector("[data-live]");
  if (mark && mark.textContent !== text) mark.textContent = text;
}

live?.addEventListener("htmx:configRequest", (event) => {
  if (document.hidden) event.preventDefault();
  event.detail.parameters.seen = seenMarks();
  event.detail.parameters.open = openBlocks();
  event.detail.parameters.rows = openQueries();
});
live?.addEventListener("htmx:afterRequest", (event) => {
  showLiveness(event.detail.successful ? "live" : "not live: the server does not answer, trying again");
  announce();
});

// Unchanged parts are not swapped, so that a selection in them survives. The shared button of
// copy.js is not a change; if a swap removes it while it has the focus, its hash gets the focus.
let focusId = "";
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  const current = target.cloneNode(true);
  current.querySelector(".shared")?.remove();
  const same = current.isEqualNode(fragment.firstElementChild);
  if (same) event.detail.shouldSwap = false;
  else focusId = target.querySelector(".shared:focus")?.closest("[id]").id ?? focusId;
});
live?.addEventListener("htmx:afterRequest", () => {
  const hash = focusId && document.getElementById(focusId);
  focusId = "";
  if (hash) (hash.querySelector("a") ?? hash).focus();
});

// A click on a link of a fact failed.
for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, (event) => {
    const { elt, target } = event.detail;
    if (!elt.matches(".related-links a")) return;
    target.textContent = "The server did not respond correctly. Try again in a moment.";
  });
}
