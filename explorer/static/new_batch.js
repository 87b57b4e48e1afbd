// What is typed or pasted while the server answers stays, also where the answer replaces the field:
// the values that differ from those that were sent are put back, with the caret and the focus.
// No key can come in between: base.html sets htmx's settle delay to 0, so a swap and its events are
// one task.

const form = () => document.querySelector("form.new-batch");
const sent = new WeakMap(); // by request
let typed = [];
let focused = null;

function fieldValues() {
  const fields = [...form().elements].filter((field) => field.id && field.type !== "hidden");
  return new Map(fields.map((field) => [field.id, field.matches("[type=checkbox], [type=radio]") ? field.checked : field.value]));
}

function putBack([id, value]) {
  const field = document.getElementById(id);
  if (!field || (field.options && ![...field.options].some((option) => option.value === value))) return false;
  const key = typeof value === "boolean" ? "checked" : "value";
  if (field[key] === value) return false;
  field[key] = value;
  return true;
}

// htmx does not move the focus to a field that was hidden until now, nor the caret in a value that
// is put back.
function putFocusBack({ id, value, selectionStart, selectionEnd }) {
  const field = document.getElementById(id);
  if (document.activeElement === document.body) field?.focus();
  const hasCaret = typeof selectionStart === "number" && field === document.activeElement && field.value === value;
  if (hasCaret) field.setSelectionRange(selectionStart, selectionEnd);
}

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (form()?.contains(detail.elt)) sent.set(detail.xhr, fieldValues());
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const before = sent.get(detail.xhr);
  focused = form()?.contains(document.activeElement) ? document.activeElement : null;
  typed = before && form() ? [...fieldValues()].filter(([id, value]) => before.has(id) && before.get(id) !== value) : [];
});
document.addEventListener("htmx:afterSettle", () => {
  const isChanged = typed.map(putBack).some(Boolean);
  typed = [];
  if (focused && !focused.isConnected) putFocusBack(focused);
  focused = null;
  if (isChanged) form()?.dispatchEvent(new Event("input", { bubbles: true }));
});

// Fields are not replaced while the user types, so their aria-invalid is set here, from the error
// messages that each check renews.

function markInvalidFields() {
  for (const field of document.querySelectorAll("form [aria-describedby]")) {
    const ids = field.getAttribute("aria-describedby").split(" ");
    const errorId = ids.find((id) => id.startsWith("error-"));
    const invalid = errorId && document.getElementById(errorId)?.querySelector(".mark.rejected");
    if (invalid) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

document.addEventListener("htmx:afterSettle", markInvalidFields);

function showNotice(name) {
  const notice = document.querySelector(`template[data-notice="${name}"]`);
  document.getElementById("verdict").replaceChildren(notice.content.cloneNode(true));
}

// An upper bound: htmx sends spaces as %20, and a form sent without htmx ends lines with CRLF.
function uploadBytes(form) {
  const bytes = (text) => encodeURIComponent(text.replace(/\r?\n/g, "\r\n")).length;
  return [...new FormData(form)].reduce((sum, [name, value]) => sum + bytes(name) + bytes(value) + 2, 0);
}

// The server would close the connection without a response.
function stopTooLarge(event, element) {
  const form = element.closest("form.new-batch");
  if (!form || uploadBytes(form) <= Number(form.dataset.maxBytes)) return;
  event.preventDefault();
  showNotice("too-large");
}

// A waiting estimate checks itself again. An equal response is not announced again.
let lastResponse = "";
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.matches("[data-recheck]")) event.preventDefault();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig, serverResponse } = event.detail;
  if (requestConfig.elt.matches("[data-recheck]") && serverResponse === lastResponse) event.detail.shouldSwap = false;
  lastResponse = serverResponse;
});

// Details stay open.
const opened = new Set(); // ids
document.addEventListener("toggle", ({ target }) => {
  if (target.isConnected && form()?.contains(target)) opened[target.open ? "add" : "delete"](target.id);
}, true);
document.addEventListener("htmx:afterSwap", () => opened.forEach((id) => document.getElementById(id)?.setAttribute("open", "")));

document.addEventListener("htmx:beforeRequest", (event) => stopTooLarge(event, event.detail.elt));
document.addEventListener("submit", (event) => stopTooLarge(event, event.target));
for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, (event) => {
    if (event.detail.elt.closest("form.new-batch")) showNotice("no-answer");
  });
}
