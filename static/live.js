// A live batch page: polls its content, and replaces only the nodes that have changed, so that the
// focus, the selection and open details stay.

const live = document.getElementById("live");
const batch = document.getElementById("batch");
const KEPT_ATTRIBUTES = ["open", "hidden"]; // changed by the visitor and by copy.js

function update(current, next) {
  if (current.isEqualNode(next)) return;
  for (const { name, value } of next.attributes) {
    if (!KEPT_ATTRIBUTES.includes(name) && current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
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

// The shared button of copy.js is not a change. It keeps its place and the focus.
function updateBesideSharedButton(next) {
  const shared = batch.querySelector(".shared");
  const hash = shared?.parentElement;
  const hadFocus = shared && shared === document.activeElement;
  shared?.remove();
  update(batch, next);
  if (!hash?.isConnected) return;
  hash.append(shared);
  if (hadFocus) shared.focus();
}

// For other tabs and screen readers.
function announce() {
  const { title, announcement } = batch.dataset;
  if (document.title !== title) document.title = title;
  if (announcement) document.getElementById("announcement").textContent = announcement;
}

function showLiveness(text) {
  const mark = document.querySelector("[data-live]");
  if (mark && mark.textContent !== text) mark.textContent = text;
}

live?.addEventListener("htmx:configRequest", (event) => {
  if (document.hidden) event.preventDefault();
  event.detail.parameters.seen = batch.dataset.seen;
});
live?.addEventListener("htmx:afterRequest", (event) => {
  const { successful, xhr } = event.detail;
  showLiveness(successful ? "live" : "not live: the server does not answer, trying again");
  if (!successful || !xhr.responseText) return;
  const { body } = new DOMParser().parseFromString(xhr.responseText, "text/html");
  updateBesideSharedButton(body.firstElementChild);
  htmx.trigger(batch, "htmx:load"); // shows new copy buttons
  announce();
});
