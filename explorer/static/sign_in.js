// Sign-in: the wallet that the user chose from the list (wallets.js) signs the server's message.
// Answers of wallets are untrusted: validated, truncated, and shown as text only.

const SERVER_TIMEOUT = 30_000; // milliseconds
const MAX_MESSAGE_LENGTH = 160;

const DECLINED = 4001;
const UNAUTHORIZED = 4100;
const REQUEST_PENDING = -32002;

const panel = document.getElementById("sign-in");
const statusText = panel.querySelector(".status-text");
const stopWaiting = panel.querySelector(".stop");
const reload = panel.querySelector(".reload");

let attempt = null; // the current one; answers to abandoned attempts are ignored

class Refusal extends Error {
  constructor(sentence, { outdated = false } = {}) {
    super(sentence);
    this.outdated = outdated; // the page has to be reloaded
  }
}

// Status

function showStatus(mark, sentence) {
  statusText.dataset.mark = mark;
  statusText.textContent = sentence;
  stopWaiting.hidden = mark !== "moving";
  reload.hidden = true;
}

function showWaiting({ wallet }, doing, sentence) {
  wallet.button.setAttribute("aria-busy", "true");
  wallet.button.querySelector(".doing").textContent = doing;
  showStatus("moving", sentence);
}

function showIdle(wallet) {
  wallet.button.removeAttribute("aria-busy");
  wallet.button.querySelector(".doing").textContent = "";
}

function short(address) {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

// Wallet requests

/** Resolves to the wallet's answer; rejects if the attempt ends first. */
function ask({ wallet, end }, method, params = []) {
  return new Promise((resolve, reject) => {
    end.signal.throwIfAborted();
    end.signal.addEventListener("abort", () => reject(end.signal.reason), { once: true });
    Promise.resolve(wallet.provider.request({ method, params })).then(resolve, reject);
  });
}

function malformedAnswer(wallet) {
  return new Refusal(
    `${wallet.name} sent a malformed answer. Try again, or choose another wallet.`);
}

function firstAccount(wallet, accounts) {
  if (!Array.isArray(accounts)) throw malformedAnswer(wallet);
  if (!accounts.length) {
    throw new Refusal(
      `${wallet.name} shows no account. Unlock it, let it show one to this page, and try again.`);
  }
  if (!/^0x[0-9a-f]{40}$/i.test(accounts[0])) throw malformedAnswer(wallet);
  return accounts[0];
}

function chainNumber(wallet, chain) {
  if (typeof chain !== "string" || !/^(0x[0-9a-f]{1,64}|[0-9]{1,78})$/i.test(chain)) {
    throw malformedAnswer(wallet);
  }
  return BigInt(chain);
}

function sameAccount(wallet, account, accounts) {
  const current = firstAccount(wallet, accounts);
  if (current.toLowerCase() === account.toLowerCase()) return;
  throw new Refusal(`The wallet changed from ${short(account)} to ${short(current)} during sign-in. ` +
    "You are not signed in. Choose the wallet again to go on with the account it shows now.");
}

function sameChain(wallet, chain, answer) {
  if (chainNumber(wallet, answer) === chain) return;
  throw new Refusal("The wallet changed to another network during sign-in. You are not signed in. " +
    "Choose the wallet again to go on with the network it shows now.");
}

/** Ends the attempt if the wallet reports another account or chain. */
function watch({ wallet, end }, account, chain) {
  const checks = {
    accountsChanged: (accounts) => sameAccount(wallet, account, accounts),
    chainChanged: (answer) => sameChain(wallet, chain, answer),
  };
  for (const [name, check] of Object.entries(checks)) {
    const listener = (answer) => {
      try {
        check(answer);
      } catch (refusal) {
        end.abort(refusal);
      }
    };
    try {
      wallet.provider.on?.(name, listener);
      end.signal.addEventListener("abort", () => {
        try {
          wallet.provider.removeListener?.(name, listener);
        } catch {
          // Harmless: the attempt has ended.
        }
      });
    } catch {
      // A wallet without events: account and chain are checked again after signing.
    }
  }
}

/** A property of a wallet's error, whose getter may throw. */
function readProperty(error, name) {
  try {
    return error[name];
  } catch {
    return undefined;
  }
}

function walletErrorText({ name }, error) {
  switch (readProperty(error, "code")) {
    case DECLINED:
      return "You declined in the wallet. Nothing was signed; choose a wallet to try again.";
    case REQUEST_PENDING:
      return `${name} already has an open request from this page. Answer it in the wallet, and try again.`;
    case UNAUTHORIZED:
      return `${name} does not show this account to this page. Unlock the wallet, allow this page to see the account, and try again.`;
  }
  const message = readProperty(error, "message");
  const quote = typeof message === "string"
    ? message.slice(0, MAX_MESSAGE_LENGTH).replace(/[\p{C}\s]+/gu, " ").trim()
    : "";
  return quote
    ? `${name} failed: “${quote}”`
    : `${name} failed without a reason. Try again, or choose another wallet.`;
}

// Server requests

async function post({ end }, url, body) {
  let response, answer;
  const controller = new AbortController(); // wallet apps' browsers may lack AbortSignal.any
  end.signal.addEventListener("abort", () => controller.abort(), { once: true });
  const timer = setTimeout(() => controller.abort(), SERVER_TIMEOUT);
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "X-CSRFToken": panel.querySelector("[name=csrfmiddlewaretoken]").value,
      },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    answer = await response.json().catch((error) => {
      if (error instanceof SyntaxError) return null;
      throw error;
    });
  } catch {
    end.signal.throwIfAborted();
    throw new Refusal("This service cannot be reached. Check your connection and try again.");
  } finally {
    clearTimeout(timer);
  }
  if (response.ok && answer) return answer;
  const wait = Number.parseInt(response.headers.get("Retry-After"), 10);
  if (response.status === 429 && wait > 0) {
    throw new Refusal(
      `Too many attempts from here. Try again in ${wait} ${wait === 1 ? "second" : "seconds"}.`);
  }
  // The token is older than the last sign-in or sign-out, or the browser keeps no cookie.
  const csrfFailed = answer?.code === "csrf_failed";
  if (!csrfFailed && typeof answer?.error === "string") throw new Refusal(answer.error);
  if (response.status >= 500) {
    throw new Refusal("Something broke on our side. You are not signed in; try again in a minute.");
  }
  throw new Refusal("This page is too old to sign in. Reload it and try again.",
    { outdated: true });
}

// Sign-in

function hexadecimal(text) {
  const bytes = Array.from(new TextEncoder().encode(text));
  return `0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Resolves to the URL of the next page. */
async function runSteps(current) {
  const { wallet } = current;
  const { messageAddress, signInAddress, next } = panel.dataset;
  showWaiting(current, "Waiting for an account",
    `Open ${wallet.name} and choose the account to show to this page.`);
  const account = firstAccount(wallet, await ask(current, "eth_requestAccounts"));
  const chain = chainNumber(wallet, await ask(current, "eth_chainId"));
  watch(current, account, chain);
  const { message } = await post(current, messageAddress, { address: account, chainId: `0x${chain.toString(16)}` });
  showWaiting(current, "Waiting for your signature",
    `Open ${wallet.name} and sign the message for ${short(account)}. This costs nothing.`);
  const signature = await ask(current, "personal_sign", [hexadecimal(message), account]);
  if (typeof signature !== "string" || !/^0x([0-9a-f]{2})*$/i.test(signature)) throw malformedAnswer(wallet);
  sameAccount(wallet, account, await ask(current, "eth_accounts"));
  sameChain(wallet, chain, await ask(current, "eth_chainId"));
  showWaiting(current, "Signing in", "The signature is being checked.");
  return (await post(current, signInAddress, { message, signature, next })).next;
}

function abandon() {
  if (!attempt) return;
  const { wallet, end } = attempt;
  attempt = null;
  showIdle(wallet);
  end.abort(new Refusal("abandoned"));
}

async function signIn(wallet) {
  if (attempt?.wallet === wallet) return; // a second click while the wallet opens
  abandon();
  const current = attempt = { wallet, end: new AbortController() };
  try {
    const next = await runSteps(current);
    showStatus("proven", "You are signed in. Opening the next page.");
    location.replace(next); // Back does not return to the finished sign-in
  } catch (error) {
    if (attempt !== current) return;
    abandon();
    const isRefusal = error instanceof Refusal;
    showStatus("rejected", isRefusal ? error.message : walletErrorText(wallet, error));
    reload.hidden = !(isRefusal && error.outdated);
  }
}

stopWaiting.addEventListener("click", () => {
  const button = attempt?.wallet.button;
  abandon();
  showStatus("", "Stopped. What is still open in the wallet can be closed there.");
  button?.focus();
});
reload.addEventListener("click", () => location.reload());
panel.addEventListener("wallet-chosen", (event) => signIn(event.detail));
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  abandon();
  showStatus("", "");
});
