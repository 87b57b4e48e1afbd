// Pages that refresh themselves. A mark with `data-seen` polls its address; the answer has the
// elements that have changed, by their ids. Only the nodes that differ are replaced, so that the
// focus, the selection and open details stay.

(() => {
  const KEPT_ATTRIBUTES = ["open", "hidden"]; // changed by the visitor and by copy.js
  const MOST_NEWER = 99; // that the server counts

  function update(current, next) {
    if (current.isEqualNode(next)) return;
    for (const { name, value } of next.attributes) {
      if (!KEPT_ATTRIBUTES.includes(name) && current.getAttribute(name) !== value) current.setAttribute(name, value);
    }
    if ("rows" in current.dataset) return updateRows(current, next);
    const nodes = [...current.childNodes];
    const nextNodes = [...next.childNodes];
    const isAlike = (node, index) => node.nodeName === nextNodes[index].nodeName;
    if (nodes.length !== nextNodes.length || !nodes.every(isAlike)) {
      current.replaceChildren(...nextNodes);
      return;
    }
    nodes.forEach((node, index) => {
      const { data } = nextNodes[index];
      if (node.nodeType === Node.ELEMENT_NODE) update(node, nextNodes[index]);
      else if (node.data !== data) node.data = data;
    });
  }

  // A row is the same one if its id is.
  function updateRows(list, next) {
    const rows = [...next.children];
    const ids = new Set(rows.map((row) => row.id));
    for (const row of [...list.children]) if (!ids.has(row.id)) row.remove();
    let place = list.firstElementChild;
    for (const row of rows) {
      const current = document.getElementById(row.id);
      if (current) update(current, row);
      if (current && current === place) place = place.nextElementSibling;
      else list.insertBefore(current ?? row, place);
    }
  }

  // The shared button of copy.js is not a change. It keeps its place and the focus.
  function updateBesideSharedButton(current, next) {
    const shared = current.querySelector(".copy.shared");
    const hash = shared?.parentElement;
    const hadFocus = shared && shared === document.activeElement;
    shared?.remove();
    update(current, next);
    if (!hash?.isConnected) return;
    hash.append(shared);
    if (hadFocus) shared.focus();
  }

  // New rows wait while a visitor reads the list: it is scrolled, or has the focus or a selection.
  const lists = () => [...document.querySelectorAll("[data-top]")];
  function isRead(list) {
    const { anchorNode, isCollapsed } = getSelection();
    return scrollY > 0 || list.contains(document.activeElement) || (!isCollapsed && list.contains(anchorNode));
  }

  const newer = document.createElement("button");
  newer.type = "button";
  newer.className = "button newer";
  newer.hidden = true;
  newer.setAttribute("aria-live", "polite");
  document.body.append(newer);
  newer.addEventListener("click", () => {
    newer.hidden = true;
    for (const list of lists()) {
      list.dataset.top = "";
      list.tabIndex = -1;
      list.focus({ preventScroll: true }); // the next tab stop is its first row
      if (list.getBoundingClientRect().top < 0) list.parentElement.scrollIntoView({ behavior: "instant" });
    }
    pollNow();
  });

  function showNewer() {
    const count = Math.max(0, ...lists().map((list) => Number(list.dataset.newer)));
    newer.hidden = count === 0;
    const text = `${count === MOST_NEWER ? `${count}+` : count} new`;
    if (count && newer.textContent !== text) newer.textContent = text;
  }

  // For other tabs and screen readers.
  function announce({ title, announcement }) {
    if (title && document.title !== title) document.title = title;
    if (announcement) document.getElementById("announcement").textContent = announcement;
  }

  function showLiveness(mark, text) {
    mark.classList.toggle("stopped", text !== "live");
    if (mark.textContent !== text) mark.textContent = text;
  }

  function pollNow() {
    for (const mark of document.querySelectorAll("[data-seen]")) htmx.trigger(mark, "poll");
  }

  document.addEventListener("htmx:configRequest", (event) => {
    const { elt: mark, parameters } = event.detail;
    if (!("seen" in mark.dataset)) return;
    if (document.hidden) event.preventDefault();
    parameters.seen = mark.dataset.seen;
    const list = lists().find(isRead);
    if (list?.dataset.top) parameters.top = list.dataset.top;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt: mark, successful, xhr } = event.detail;
    if (!("seen" in mark.dataset)) return;
    showLiveness(mark, successful ? "live" : "not live: the server does not answer, trying again");
    if (!successful || !xhr.responseText) return;
    const { body } = new DOMParser().parseFromString(xhr.responseText, "text/html");
    if (body.querySelector("main")) { // another page, such as the form to sign in
      showLiveness(mark, "not live: reload the page");
      return;
    }
    for (const next of [...body.children]) {
      const current = document.getElementById(next.id);
      updateBesideSharedButton(current, next);
      htmx.process(current);
      htmx.trigger(current, "htmx:load"); // shows new copy buttons
      announce(current.dataset);
    }
    showNewer();
  });

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) pollNow();
  });
})();
