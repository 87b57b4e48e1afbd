// The wallets of this browser, a button for each: those that announce themselves (EIP-6963), or
// the one at `window.ethereum` where none does. A click tells the page with "wallet-chosen".
// What a wallet says of itself is a stranger's text: it is measured, cut, and only shown as text.

const LISTENED_BEFORE_FALLING_BACK = 400; // milliseconds; announcing wallets answer at once
const MOST_WALLETS = 12;
const LONGEST_NAME = 40;
const LONGEST_ICON = 200_000;

const panel = document.getElementById("sign-in");
const list = panel.querySelector(".wallets");
const pattern = panel.querySelector("template");
const looking = panel.querySelector(".looking");
const noWallet = panel.querySelector(".no-wallet");
const wallets = [];

/** On one line, without characters that hide or reorder others. */
function plain(text) {
  const characters = [...text.slice(0, 1_000).replace(/[\p{C}\s]+/gu, " ").trim()];
  return characters.length > LONGEST_NAME
    ? `${characters.slice(0, LONGEST_NAME - 1).join("")}…`
    : characters.join("");
}

function add({ provider, name, icon, uuid, rdns, announced }) {
  const known = wallets.some((each) => each.provider === provider || (uuid && each.uuid === uuid));
  if (known || wallets.length >= MOST_WALLETS || typeof provider?.request !== "function") return;
  const item = pattern.content.cloneNode(true).firstElementChild;
  const button = item.querySelector("button");
  const shown = plain(name) || "A wallet without a name";
  const wallet = { provider, name: shown, uuid, rdns, announced, item, button };
  item.querySelector(".name").textContent = shown;
  showIcon(item, icon, shown);
  button.addEventListener("click", () => {
    panel.dispatchEvent(new CustomEvent("wallet-chosen", { detail: wallet }));
  });
  wallets.push(wallet);
  list.append(item);
  tellApart(wallets.filter((each) => each.name === shown));
  looking.hidden = noWallet.hidden = true;
  return wallet;
}

/** Two of one name, such as a wallet and its test version, say whose they are as well. */
function tellApart(namesakes) {
  if (namesakes.length < 2) return;
  for (const { item, name, rdns } of namesakes) {
    const whose = plain(typeof rdns === "string" ? rdns : "");
    item.querySelector(".name").textContent = whose ? `${name} (${whose})` : name;
  }
}

function showIcon(item, icon, name) {
  const picture = item.querySelector("img");
  const letter = item.querySelector(".letter");
  letter.textContent = [...name][0].toUpperCase();
  if (typeof icon !== "string" || icon.length > LONGEST_ICON || !icon.startsWith("data:image/")) return;
  picture.addEventListener("load", () => {
    picture.hidden = false;
    letter.hidden = true;
  });
  picture.src = icon;
}

/** The one at `window.ethereum` makes room for those that say who they are. */
function removeFallBack() {
  const place = wallets.findIndex((each) => !each.announced && !each.button.ariaBusy);
  if (place < 0) return false;
  const [wallet] = wallets.splice(place, 1);
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
    // An announcement that cannot be read is none.
  }
});

function fallBack() {
  if (!wallets.length && window.ethereum) {
    add({ provider: window.ethereum, name: "Wallet of this browser", announced: false });
  }
  looking.hidden = true;
  noWallet.hidden = wallets.length > 0;
}

function look() {
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  looking.hidden = wallets.length > 0;
  noWallet.hidden = true;
  setTimeout(fallBack, LISTENED_BEFORE_FALLING_BACK);
}

window.addEventListener("ethereum#initialized", fallBack);
window.addEventListener("focus", () => noWallet.hidden || fallBack()); // back from installing one
panel.querySelector(".look-again").addEventListener("click", look);
look();
