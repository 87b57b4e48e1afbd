// Signing in: the wallet that was chosen among those of wallets.js signs the server's message,
// which is handed in. Whatever a wallet answers is a stranger's: checked, cut, shown as text.

const LONGEST_WAIT_FOR_SERVER = 30_000; // milliseconds
const LONGEST_SAYING = 160;

const DECLINED = 4001;
const NOT_LET_IN = 4100;
const ALREADY_ASKED = -32002;

const panel = document.getElementById("sign-in");
const status = panel.querySelector(".said");
const stopWaiting = panel.querySelector(".stop");
const reload = panel.querySelector(".reload");

let attempt = null; // the one whose answers count; an abandoned one's are ignored

class Refusal extends Error {
  constructor(sentence, { outdated = false } = {}) {
    super(sentence);
    this.outdated = outdated; // only a fresh page can go on
  }
}

// What is shown

function say(mark, sentence) {
  status.dataset.mark = mark;
  status.textContent = sentence;
  stopWaiting.hidden = mark !== "moving";
  reload.hidden = true;
}

function waiting({ wallet }, doing, sentence) {
  wallet.button.setAttribute("aria-busy", "true");
  wallet.button.querySelector(".doing").textContent = doing;
  say("moving", sentence);
}

function idle(wallet) {
  wallet.button.removeAttribute("aria-busy");
  wallet.button.querySelector(".doing").textContent = "";
}

function short(address) {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

// Asking the wallet

/** The wallet's answer, or why this attempt has ended before it came. */
function ask({ wallet, end }, method, params = []) {
  return new Promise((resolve, reject) => {
    end.signal.throwIfAborted();
    end.signal.addEventListener("abort", () => reject(end.signal.reason), { once: true });
    Promise.resolve(wallet.provider.request({ method, params })).then(resolve, reject);
  });
}

function nonsense(wallet) {
  return new Refusal(
    `${wallet.name} gave an answer that is not understood. Try again, or take another wallet.`);
}

function firstAccount(wallet, accounts) {
  if (!Array.isArray(accounts)) throw nonsense(wallet);
  if (!accounts.length) {
    throw new Refusal(
      `${wallet.name} shows no account. Unlock it, let it show one to this page, and try again.`);
  }
  if (!/^0x[0-9a-f]{40}$/i.test(accounts[0])) throw nonsense(wallet);
  return accounts[0];
}

function chainNumber(wallet, chain) {
  if (typeof chain !== "string" || !/^(0x[0-9a-f]{1,64}|[0-9]{1,78})$/i.test(chain)) {
    throw nonsense(wallet);
  }
  return BigInt(chain);
}

function sameAccount(wallet, account, accounts) {
  const now = firstAccount(wallet, accounts);
  if (now.toLowerCase() === account.toLowerCase()) return;
  throw new Refusal(`The wallet changed from ${short(account)} to ${short(now)} on the way. ` +
    "You are not signed in. Choose the wallet again to go on with the account it shows now.");
}

function sameChain(wallet, chain, answer) {
  if (chainNumber(wallet, answer) === chain) return;
  throw new Refusal("The wallet changed to another network on the way. You are not signed in. " +
    "Choose the wallet again to go on with the network it shows now.");
}

/** Ends the attempt as soon as the wallet tells of a change, while it still waits for an answer. */
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
          // The attempt has ended, so a listener that stays changes nothing.
        }
      });
    } catch {
      // A wallet that tells of no changes is asked again before the signature is used.
    }
  }
}

/** What an error says of itself; a wallet's may be anything, a trap too. */
function told(error, name) {
  try {
    return error[name];
  } catch {
    return undefined;
  }
}

function ofWallet({ name }, error) {
  switch (told(error, "code")) {
    case DECLINED:
      return "You declined in the wallet. Nothing was signed; choose a wallet to try again.";
    case ALREADY_ASKED:
      return `${name} already has an open request from this page. Answer it in the wallet, and try again.`;
    case NOT_LET_IN:
      return `${name} does not show this account to this page. Unlock the wallet, allow this page to see the account, and try again.`;
  }
  const message = told(error, "message");
  const said = typeof message === "string"
    ? message.slice(0, LONGEST_SAYING).replace(/[\p{C}\s]+/gu, " ").trim()
    : "";
  return said
    ? `${name} could not do it. It says: “${said}”`
    : `${name} could not do it and does not say why. Try again, or take another wallet.`;
}

// Asking the server

async function post({ end }, address, asked) {
  let response, answer;
  const cut = new AbortController(); // not AbortSignal.any, which browsers in wallet apps may lack
  end.signal.addEventListener("abort", () => cut.abort(), { once: true });
  const timer = setTimeout(() => cut.abort(), LONGEST_WAIT_FOR_SERVER);
  try {
    response = await fetch(address, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "X-CSRFToken": panel.querySelector("[name=csrfmiddlewaretoken]").value,
      },
      body: JSON.stringify(asked),
      signal: cut.signal,
    });
    answer = await response.json().catch((error) => {
      if (error instanceof SyntaxError) return null;
      throw error;
    });
  } catch {
    end.signal.throwIfAborted();
    throw new Refusal("This service cannot be reached. Look at your connection and try again.");
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
  const outdated = answer?.code === "csrf_failed";
  if (!outdated && typeof answer?.error === "string") throw new Refusal(answer.error);
  if (response.status >= 500) {
    throw new Refusal("Something broke on our side. You are not signed in; try again in a minute.");
  }
  throw new Refusal("This page has become too old to sign in from. Load it again and go on from there.",
    { outdated: true });
}

// Signing in

function hexadecimal(text) {
  const bytes = Array.from(new TextEncoder().encode(text));
  return `0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Where to go once signed in. */
async function steps(mine) {
  const { wallet } = mine;
  const { messageAddress, signInAddress, next } = panel.dataset;
  waiting(mine, "Waiting for an account",
    `Open ${wallet.name} and choose the account to show to this page.`);
  const account = firstAccount(wallet, await ask(mine, "eth_requestAccounts"));
  const chain = chainNumber(wallet, await ask(mine, "eth_chainId"));
  watch(mine, account, chain);
  const { message } = await post(mine, messageAddress, { address: account, chainId: `0x${chain.toString(16)}` });
  waiting(mine, "Waiting for your signature",
    `Open ${wallet.name} and sign the message for ${short(account)}. This costs nothing.`);
  const signature = await ask(mine, "personal_sign", [hexadecimal(message), account]);
  if (typeof signature !== "string" || !/^0x([0-9a-f]{2})*$/i.test(signature)) throw nonsense(wallet);
  sameAccount(wallet, account, await ask(mine, "eth_accounts"));
  sameChain(wallet, chain, await ask(mine, "eth_chainId"));
  waiting(mine, "Signing in", "The signature is being checked.");
  return (await post(mine, signInAddress, { message, signature, next })).next;
}

function abandon() {
  if (!attempt) return;
  const { wallet, end } = attempt;
  attempt = null;
  idle(wallet);
  end.abort(new Refusal("abandoned"));
}

async function signIn(wallet) {
  if (attempt?.wallet === wallet) return; // a second click while the wallet opens
  abandon();
  const mine = attempt = { wallet, end: new AbortController() };
  try {
    const next = await steps(mine);
    say("proven", "You are signed in. The next page is on its way.");
    location.replace(next); // so that Back does not lead to a sign-in that is over
  } catch (error) {
    if (attempt !== mine) return;
    abandon();
    const ours = error instanceof Refusal;
    say("rejected", ours ? error.message : ofWallet(wallet, error));
    reload.hidden = !(ours && error.outdated);
  }
}

stopWaiting.addEventListener("click", () => {
  const button = attempt?.wallet.button;
  abandon();
  say("", "Stopped. What is still open in the wallet can be closed there.");
  button?.focus();
});
reload.addEventListener("click", () => location.reload());
panel.addEventListener("wallet-chosen", (event) => signIn(event.detail));
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  abandon();
  say("", "");
});
