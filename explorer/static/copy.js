// Copy buttons: <button type="button" class="copy" data-copy="#id-or-text" hidden>.
// The full text may be abbreviated in the <code> beside its button. Without access to the clipboard
// (http), the text is selected instead.
//
// Abbreviated hashes in lists share one button, which moves to the hash that is hovered or focused.

(() => {
  const COPIED_MILLISECONDS = 2_000;

  const announcement = document.createElement("p");
  announcement.className = "unseen";
  announcement.setAttribute("role", "status");
  document.body.append(announcement);

  const shared = document.createElement("button");
  shared.type = "button";
  shared.className = "copy shared";
  shared.innerHTML = '<span class="label">Copy</span>';

  function moveShared({ target }) {
    const short = target.closest?.(".short");
    const whole = short?.querySelector("code.exact");
    if (!whole || whole.contains(shared) || short.parentElement.querySelector(":scope > .copy")) return;
    if (shared.matches(":focus-visible")) return; // it is about to be pressed
    reset(shared);
    shared.setAttribute("aria-label", `Copy ${whole.textContent}`);
    whole.append(shared);
  }

  function showButtons(root) {
    for (const button of root.querySelectorAll(".copy[hidden]")) button.hidden = false;
  }

  function select(element) {
    const selection = getSelection();
    selection.removeAllRanges();
    const range = document.createRange();
    range.selectNodeContents(element);
    selection.addRange(range);
  }

  function showResult(button, word, sentence) {
    const label = button.querySelector(".label");
    button.dataset.label ??= label.textContent;
    label.textContent = word;
    announcement.textContent = sentence;
    clearTimeout(button.timer);
    button.timer = setTimeout(() => reset(button), COPIED_MILLISECONDS);
  }

  function reset(button) {
    clearTimeout(button.timer);
    if (button.dataset.label) button.querySelector(".label").textContent = button.dataset.label;
    delete button.dataset.label;
    announcement.textContent = "";
  }

  function sourceOf(button) {
    if (button === shared) return shared.previousSibling;
    const { copy } = button.dataset;
    return copy.startsWith("#") ? document.querySelector(copy) : null;
  }

  async function copy(button) {
    const source = sourceOf(button);
    const text = source ? source.textContent.trim() : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
      showResult(button, "Copied", "Copied.");
    } catch {
      const element = source ?? button.parentElement.querySelector("code");
      if (!source) element.textContent = text;
      element.closest("details")?.setAttribute("open", "");
      select(element);
      showResult(button, "Selected", "The text is selected. Copy it with the keyboard.");
    }
  }

  // A click on the whole hash, or on the short one if it is not a link, presses the button, unless it
  // ends a selection.
  function pressedButton(target) {
    const button = target.closest(".copy");
    if (button) return button;
    const short = target.closest(".short");
    if (!short?.contains(shared) || !getSelection().isCollapsed) return null;
    return target.matches(".exact") || !short.querySelector("a") ? shared : null;
  }

  document.addEventListener("click", (event) => {
    const button = pressedButton(event.target);
    if (button) copy(button);
  });
  document.addEventListener("pointerover", moveShared);
  document.addEventListener("focusin", moveShared);
  document.addEventListener("htmx:load", (event) => showButtons(event.target));
  showButtons(document);
})();
