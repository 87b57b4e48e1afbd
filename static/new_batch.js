// Fields are not replaced while a person types. So set aria-invalid here, from the sentence beside
// the field, which each check renews.

function tell() {
  for (const field of document.querySelectorAll("form [aria-describedby]")) {
    const about = field.getAttribute("aria-describedby").split(" ").find((each) => each.startsWith("fault-"));
    const wrong = about && document.getElementById(about)?.querySelector(".mark.rejected");
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

document.addEventListener("htmx:afterSettle", tell);

// Shown if no answer comes, or one that is not part of the form, such as a proxy's error page. A
// form that is too large is not sent: the server would close the connection.

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
