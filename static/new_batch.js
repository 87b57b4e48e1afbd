// A field that is not replaced while one types still tells that it is wrong, or no longer is: by
// the sentence beside it, which comes anew with each check.

function tell() {
  for (const field of document.querySelectorAll("form [aria-describedby]")) {
    const about = field.getAttribute("aria-describedby").split(" ").find((each) => each.startsWith("fault-"));
    const wrong = about && document.getElementById(about)?.querySelector(".mark.rejected");
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

document.addEventListener("htmx:afterSettle", tell);

// What a form is told whose answer does not come, or comes as no part of it: a page, or a proxy's
// word. One that is larger than is read is not sent, since a server hangs up on it.

function say(name) {
  const said = document.querySelector(`template[data-said="${name}"]`);
  document.getElementById("verdict").replaceChildren(said.content.cloneNode(true));
}

// At most: htmx sends spaces as %20, and a form that is sent without it ends lines with two bytes.
function bytesOf(form) {
  const bytes = (text) => encodeURIComponent(text.replace(/\r?\n/g, "\r\n")).length;
  return [...new FormData(form)].reduce((sum, [name, value]) => sum + bytes(name) + bytes(value) + 2, 0);
}

function keepTooLarge(event, element) {
  const form = element.closest("form.new-batch");
  if (!form || bytesOf(form) <= Number(form.dataset.longest)) return;
  event.preventDefault();
  say("too-much");
}

document.addEventListener("htmx:beforeRequest", (event) => keepTooLarge(event, event.detail.elt));
document.addEventListener("submit", (event) => keepTooLarge(event, event.target));
for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, (event) => {
    if (event.detail.elt.closest("form.new-batch")) say("no-answer");
  });
}
