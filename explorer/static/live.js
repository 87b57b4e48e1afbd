// Pages that refresh themselves. A mark with `data-seen` polls its address; the answer has the
// elements that have changed, by their ids. Only the nodes that differ are replaced, so that the
// focus, the selection and open details stay.

(() => {
  const KEPT_ATTRIBUTES = ["open", "hidden"]; // changed by the visitor and by copy.js
  const MAX_NEWER = 99; // that the server counts

  function update(current, next) {
    if (current.isEqualNode(next)) return;
    if (current.nodeType !== Node.ELEMENT_NODE) {
      current.data = next.data;
      return;
    }
    for (const { name, value } of next.attributes) {
      if (!KEPT_ATTRIBUTES.includes(name) && current.getAttribute(name) !== value) current.setAttribute(name, value);
    }
    for (const { name } of [...current.attributes]) {
      if (!KEPT_ATTRIBUTES.includes(name) && !next.hasAttribute(name)) current.removeAttribute(name);
    }
    updateChildren(current, next);
  }

  // Keeps the elements that stay, in their order: they have the same name, id and first class.
  function updateChildren(current, next) {
    const nodes = [...next.childNodes];
    let place = current.firstChild;
    nodes.forEach((node, index) => {
      // Not texts, which are everywhere alike.
      const comesLater = () => place.id !== undefined && nodes.slice(index).some((other) => isSame(place, other));
      while (place && !isSame(place, node) && !comesLater()) place = removeNode(place);
      if (!place || !isSame(place, node)) {
        current.insertBefore(node, place);
        return;
      }
      const kept = place;
      place = place.nextSibling;
      update(kept, node);
    });
    while (place) place = removeNode(place);
  }

  function isSame(node, other) {
    return node.nodeName === other.nodeName && node.id === other.id && node.classList?.[0] === other.classList?.[0];
  }

  function removeNode(node) {
    const following = node.nextSibling;
    node.remove();
    return following;
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

  // New rows wait while a visitor reads the list: the page is scrolled, or a row has the focus or a
  // selection.
  let wantsNewest = false;
  const lists = () => [...document.querySelectorAll("[data-top]")];
  function isRead(list) {
    const { anchorNode, isCollapsed } = getSelection();
    const { activeElement } = document;
    const hasFocus = activeElement !== list && list.contains(activeElement);
    return scrollY > 0 || hasFocus || (!isCollapsed && list.contains(anchorNode));
  }

  const newer = document.createElement("button");
  newer.type = "button";
  newer.className = "button newer";
  newer.hidden = true;
  newer.setAttribute("aria-live", "polite");
  document.body.append(newer);
  newer.addEventListener("click", () => {
    newer.hidden = true;
    wantsNewest = true;
    for (const list of lists()) {
      list.tabIndex = -1;
      list.focus({ preventScroll: true }); // the next tab stop is its first row
      if (list.getBoundingClientRect().top < 0) list.parentElement.scrollIntoView({ behavior: "instant" });
    }
    pollNow();
  });

  function showNewer() {
    const count = Math.max(0, ...lists().map((list) => Number(list.dataset.newer)));
    newer.hidden = count === 0;
    const text = `${count === MAX_NEWER ? `${count}+` : count} new`;
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

  // Such as the form to sign in, the page of an unknown address, or a proxy's.
  function stop(mark) {
    mark.dataset.over = "";
    showLiveness(mark, "not live: reload the page");
  }

  function pollNow() {
    for (const mark of document.querySelectorAll("[data-seen]")) htmx.trigger(mark, "poll");
  }

  document.addEventListener("htmx:configRequest", (event) => {
    const { elt: mark, parameters } = event.detail;
    if (!("seen" in mark.dataset)) return;
    if (document.hidden || "over" in mark.dataset) event.preventDefault();
    parameters.seen = mark.dataset.seen;
    const list = lists().find(isRead);
    if (list && !wantsNewest) parameters.top = list.dataset.top;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt: mark, successful, xhr } = event.detail;
    if (!("seen" in mark.dataset)) return;
    if (!successful) {
      if (xhr.status === 404) stop(mark);
      else if (xhr.status) showLiveness(mark, "not live: the server has an error, trying again");
      else showLiveness(mark, "not live: the server does not answer, trying again");
      return;
    }
    showLiveness(mark, "live");
    const isOfOlderRows = new URL(xhr.responseURL).searchParams.has("top");
    if (wantsNewest && isOfOlderRows) return; // asked for before the click
    wantsNewest = false;
    if (!xhr.responseText) return;
    const { body } = new DOMParser().parseFromString(xhr.responseText, "text/html");
    const parts = [...body.children];
    if (!parts.length || !parts.every(({ id }) => id && document.getElementById(id)) || body.querySelector("main")) {
      stop(mark);
      return;
    }
    for (const next of parts) {
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
