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
