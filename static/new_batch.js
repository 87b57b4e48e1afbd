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

// The details of an estimate stay open.
let isOpen = false;
document.addEventListener("toggle", ({ target }) => { if (target.id === "estimate-details" && target.isConnected) isOpen = target.open; }, true);
document.addEventListener("htmx:afterSwap", () => document.getElementById("estimate-details")?.toggleAttribute("open", isOpen));

document.addEventListener("htmx:beforeRequest", (event) => stopTooLarge(event, event.detail.elt));
document.addEventListener("submit", (event) => stopTooLarge(event, event.target));
for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, (event) => {
    if (event.detail.elt.closest("form.new-batch")) showNotice("no-answer");
  });
}
