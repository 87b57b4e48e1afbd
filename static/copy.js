// Copy buttons: <button type="button" class="copy" data-copy="#id-or-text" hidden>.
// A text stands shortened in the <code> beside its button. Where a page may not write to the
// clipboard (http), what is shown is selected for the keyboard.

(() => {
  const COPIED_FOR = 2_000; // milliseconds

  const spoken = document.createElement("p");
  spoken.className = "unseen";
  spoken.setAttribute("role", "status");
  document.body.append(spoken);

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
    button.answered = setTimeout(() => {
      label.textContent = button.dataset.was;
      spoken.textContent = "";
    }, COPIED_FOR);
  }

  async function copy(button) {
    const said = button.dataset.copy;
    const source = said.startsWith("#") ? document.querySelector(said) : null;
    const text = source ? source.textContent.trim() : said;
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

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (button) copy(button);
  });
  document.addEventListener("htmx:load", (event) => show(event.target));
  show(document);
})();
