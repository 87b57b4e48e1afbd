// The demo's wallet, announced like any other (EIP-6963). The server signs for it, and only the
// sign-in message that it has just issued.

const panel = document.getElementById("sign-in");
const { demoWallet } = panel.dataset;

const UNSUPPORTED_METHOD = 4200;

async function readJson(response) {
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body;
}

const account = async () => readJson(await fetch(demoWallet));

function text(hexadecimal) {
  const bytes = hexadecimal.slice(2).match(/../g).map((byte) => Number.parseInt(byte, 16));
  return new TextDecoder().decode(new Uint8Array(bytes));
}

async function sign(message) {
  const response = await fetch(`${demoWallet}/signature`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-CSRFToken": panel.querySelector("[name=csrfmiddlewaretoken]").value,
    },
    body: JSON.stringify({ message: text(message) }),
  });
  return (await readJson(response)).signature;
}

async function request({ method, params }) {
  switch (method) {
    case "eth_requestAccounts":
    case "eth_accounts":
      return [(await account()).address];
    case "eth_chainId":
      return (await account()).chainId;
    case "personal_sign":
      return sign(params[0]);
  }
  throw Object.assign(new Error(`The demo wallet does not support ${method}.`), { code: UNSUPPORTED_METHOD });
}

const info = Object.freeze({
  uuid: "6f0c1c1e-6a3a-4d4e-9a0f-2f5d1a7c3b90",
  name: "Demo wallet",
  rdns: "localhost.demo-wallet",
  icon: "",
});

function announce() {
  const detail = Object.freeze({ info, provider: Object.freeze({ request }) });
  window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
}

window.addEventListener("eip6963:requestProvider", announce);
announce();
