// A page that refreshes itself: tells the server what is shown and open, so that only what has
// changed comes back, and says whether the page is live.

const live = document.getElementById("live");

function shown() {
  return [...document.querySelectorAll("[data-mark]")].map((part) => part.dataset.mark).join(".");
}

function opened() {
  const blocks = [...document.querySelectorAll("details[data-block][open]")];
  return blocks
    .map((block) => [block.dataset.block, block.querySelector("[data-from]")?.dataset.from])
    .filter(([, from]) => from !== undefined)
    .map(([block, from]) => `${block}:${from}`)
    .join(",");
}

// Queries whose steps and values are shown; of the others only the marks are refreshed.
function rows() {
  return [...document.querySelectorAll("[data-row]")].map((row) => row.dataset.row).join(",");
}

// The title, and once the batch has ended a sentence for those who do not look at the page.
function tell() {
  const state = document.getElementById("state");
  if (document.title !== state.dataset.title) document.title = state.dataset.title;
  const said = state.dataset.said;
  if (said) document.getElementById("announcement").textContent = said;
}

function say(words) {
  const mark = document.querySelector("[data-live]");
  if (mark && mark.textContent !== words) mark.textContent = words;
}

live?.addEventListener("htmx:configRequest", (event) => {
  if (document.hidden) event.preventDefault();
  event.detail.parameters.seen = shown();
  event.detail.parameters.open = opened();
  event.detail.parameters.rows = rows();
});
live?.addEventListener("htmx:afterRequest", (event) => {
  say(event.detail.successful ? "live" : "not live: the server does not answer, trying again");
  tell();
});

// Unchanged parts are not replaced, so a selection in them stays. The copy button that copy.js puts
// there does not count as a change; if it had the focus, the hash gets it.
let left = "";
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  const was = target.cloneNode(true);
  was.querySelector(".guest")?.remove();
  const same = was.isEqualNode(fragment.firstElementChild);
  if (same) event.detail.shouldSwap = false;
  else left = target.querySelector(".guest:focus")?.closest("[id]").id ?? left;
});
live?.addEventListener("htmx:afterRequest", () => {
  const hash = left && document.getElementById(left);
  left = "";
  if (hash) (hash.querySelector("a") ?? hash).focus();
});

// What a click on a fact's links asked for did not come.
for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, (event) => {
    const { elt, target } = event.detail;
    if (!elt.matches(".ways a")) return;
    target.textContent = "The server does not answer as it should. Try again in a moment.";
  });
}
