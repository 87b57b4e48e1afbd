// A wallet in a page (EIP-1193, EIP-6963). wallet.py decides its answers.
(({ name, icon, uuid, rdns, place }) => {
  const listeners = {};
  const waiting = [];
  const provider = {
    async request({ method, params = [] }) {
      for (;;) {
        const answer = await window.askTheTest(name, method, params);
        if ("error" in answer) throw Object.assign(new Error(answer.error.message), answer.error);
        if (!answer.held) return answer.result;
        await new Promise((resolve) => waiting.push(resolve));
      }
    },
    on(event, listener) { (listeners[event] ??= new Set()).add(listener); },
    removeListener(event, listener) { listeners[event]?.delete(listener); },
  };
  const detail = Object.freeze({ info: Object.freeze({ uuid, name, icon, rdns }), provider });
  const announce = () => {
    window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  };
  if (place === "announced") {
    window.addEventListener("eip6963:requestProvider", announce);
    announce();
  } else if (place === "window.ethereum") {
    window.ethereum = provider;
  }
  (window.testWallets ??= {})[name] = {
    announce,
    emit: (event, value) => listeners[event]?.forEach((listener) => listener(value)),
    release: () => waiting.splice(0).forEach((resolve) => resolve()),
    listeners: () => Object.values(listeners).reduce((sum, set) => sum + set.size, 0),
  };
})
