// A button per wallet of this browser: those that announce themselves (EIP-6963), or else
// `window.ethereum`. A click dispatches "wallet-chosen".
// Names and icons of wallets are untrusted: limited in size, and shown as text only.

const FALLBACK_DELAY = 400; // milliseconds; announcing wallets answer at once
const MAX_WALLETS = 12;
const MAX_NAME_LENGTH = 40;
const MAX_ICON_LENGTH = 200_000;

const panel = document.getElementById("sign-in");
const list = panel.querySelector(".wallets");
const pattern = panel.querySelector("template");
const searching = panel.querySelector(".searching");
const noWallet = panel.querySelector(".no-wallet");
const wallets = [];

/** One line, without control and bidi characters. */
function plain(text) {
  const characters = [...text.slice(0, 1_000).replace(/[\p{C}\s]+/gu, " ").trim()];
  return characters.length > MAX_NAME_LENGTH
    ? `${characters.slice(0, MAX_NAME_LENGTH - 1).join("")}…`
    : characters.join("");
}

function add({ provider, name, icon, uuid, rdns, announced }) {
  const known = wallets.some((wallet) => wallet.provider === provider || (uuid && wallet.uuid === uuid));
  if (known || wallets.length >= MAX_WALLETS || typeof provider?.request !== "function") return;
  const item = pattern.content.cloneNode(true).firstElementChild;
  const button = item.querySelector("button");
  const label = plain(name) || "Unnamed wallet";
  const wallet = { provider, name: label, uuid, rdns, announced, item, button };
  item.querySelector(".name").textContent = label;
  showIcon(item, icon, label);
  button.addEventListener("click", () => {
    panel.dispatchEvent(new CustomEvent("wallet-chosen", { detail: wallet }));
  });
  wallets.push(wallet);
  list.append(item);
  distinguish(wallets.filter((other) => other.name === label));
  searching.hidden = noWallet.hidden = true;
  return wallet;
}

/** Wallets with the same name, such as a test version, get their rdns too. */
function distinguish(namesakes) {
  if (namesakes.length < 2) return;
  for (const { item, name, rdns } of namesakes) {
    const owner = plain(typeof rdns === "string" ? rdns : "");
    item.querySelector(".name").textContent = owner ? `${name} (${owner})` : name;
  }
}

function showIcon(item, icon, name) {
  const picture = item.querySelector("img");
  const letter = item.querySelector(".letter");
  letter.textContent = [...name][0].toUpperCase();
  if (typeof icon !== "string" || icon.length > MAX_ICON_LENGTH || !icon.startsWith("data:image/")) return;
  picture.addEventListener("load", () => {
    picture.hidden = false;
    letter.hidden = true;
  });
  picture.src = icon;
}

/** Announced wallets replace `window.ethereum`. */
function removeFallBack() {
  const index = wallets.findIndex((wallet) => !wallet.announced && !wallet.button.ariaBusy);
  if (index < 0) return false;
  const [wallet] = wallets.splice(index, 1);
  const focused = wallet.item.contains(document.activeElement);
  wallet.item.remove();
  return focused;
}

window.addEventListener("eip6963:announceProvider", (event) => {
  try {
    const { info, provider } = event.detail;
    if (typeof info.name !== "string" || typeof provider.request !== "function") return;
    const focused = removeFallBack();
    const added = add({ ...info, provider, announced: true });
    if (focused) added?.button.focus();
  } catch {
    // Ignore a malformed announcement.
  }
});

function fallBack() {
  if (!wallets.length && window.ethereum) {
    add({ provider: window.ethereum, name: "Browser wallet", announced: false });
  }
  searching.hidden = true;
  noWallet.hidden = wallets.length > 0;
}

function search() {
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  searching.hidden = wallets.length > 0;
  noWallet.hidden = true;
  setTimeout(fallBack, FALLBACK_DELAY);
}

window.addEventListener("ethereum#initialized", fallBack);
window.addEventListener("focus", () => noWallet.hidden || fallBack()); // back from installing one
panel.querySelector(".search-again").addEventListener("click", search);
search();
