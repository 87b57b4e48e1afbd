// Copy buttons: <button type="button" class="copy" data-copy="#id-or-text" hidden>.
// A text stands shortened in the <code> beside its button. Where a page may not write to the
// clipboard (http), what is shown is selected for the keyboard.
//
// A hash that stands shortened in a list has no button of its own: one for all of them goes where
// its whole text shows, with the pointer and with the focus.

(() => {
  const COPIED_FOR = 2_000; // milliseconds

  const spoken = document.createElement("p");
  spoken.className = "unseen";
  spoken.setAttribute("role", "status");
  document.body.append(spoken);

  const guest = document.createElement("button");
  guest.type = "button";
  guest.className = "copy guest";
  guest.innerHTML = '<span class="label">Copy</span>';

  function visit({ target }) {
    const short = target.closest?.(".short");
    const whole = short?.querySelector("code.exact");
    if (!whole || whole.contains(guest) || short.parentElement.querySelector(":scope > .copy")) return;
    if (guest.matches(":focus-visible")) return; // whoever is about to press it keeps it
    unanswer(guest);
    guest.setAttribute("aria-label", `Copy ${whole.textContent}`);
    whole.append(guest);
  }

  function show(place) {
    for (const button of place.querySelectorAll(".copy[hidden]")) button.hidden = false;
  }

  function select(element) {
    const selection = getSelection();
    selection.removeAllRanges();
    const range = document.createRange();
    range.selectNodeContents(element);
    selection.addRange(range);
  }

  function answer(button, word, sentence) {
    const label = button.querySelector(".label");
    button.dataset.was ??= label.textContent;
    label.textContent = word;
    spoken.textContent = sentence;
    clearTimeout(button.answered);
    button.answered = setTimeout(() => unanswer(button), COPIED_FOR);
  }

  function unanswer(button) {
    clearTimeout(button.answered);
    button.querySelector(".label").textContent = button.dataset.was ?? "Copy";
    spoken.textContent = "";
  }

  function sourceOf(button) {
    if (button === guest) return guest.previousSibling;
    const said = button.dataset.copy;
    return said.startsWith("#") ? document.querySelector(said) : null;
  }

  async function copy(button) {
    const source = sourceOf(button);
    const text = source ? source.textContent.trim() : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
      answer(button, "Copied", "Copied.");
    } catch {
      const shown = source ?? button.parentElement.querySelector("code");
      if (!source) shown.textContent = text;
      select(shown);
      answer(button, "Selected", "The text is selected. Copy it with the keyboard.");
    }
  }

  // A click on the shown hash counts as one on the button, unless it ends a selection.
  function pressed(target) {
    const button = target.closest(".copy");
    if (button) return button;
    return target.contains(guest) && target.matches(".exact") && getSelection().isCollapsed ? guest : null;
  }

  document.addEventListener("click", (event) => {
    const button = pressed(event.target);
    if (button) copy(button);
  });
  document.addEventListener("pointerover", visit);
  document.addEventListener("focusin", visit);
  document.addEventListener("htmx:load", (event) => show(event.target));
  show(document);
})();
