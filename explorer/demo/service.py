"""Starts the demo's service as an operator does, and signs in as a wallet does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from explorer.demo.chains import CHAIN_A, CHAIN_B, THRESHOLD, DemoChains, Keys
from explorer.demo.local_node import LocalNode
from explorer.demo.processes import DemoError, Programs

ATTESTER_OPTIONS = ("--watch", "--store", "--source", str(CHAIN_B), "--destination", str(CHAIN_A))

TIMEOUT = 30  # seconds, for signing in


@contextmanager
def running_service(folder: Path, site: str, chains: DemoChains, keys: Keys) -> Iterator[Programs]:
    """Run the server, the prover and two attesters, which are ready inside the `with` block."""
    routes = folder / "routes.toml"
    routes.write_text(chains.routes(keys))
    settings = {
        "DEVELOPMENT": "1",
        "DATABASE_URL": f"sqlite:///{folder}/tacitus.sqlite3",
        "ROUTES_FILE": str(routes),
        "SIGNER_KEY": keys.signer.key.hex(),
        "DEMO_WALLET_NODE": chains.a.url,
        "LOG_LEVEL": "WARNING",
        "ALLOW_PRIVATE_WEBHOOKS": "1",  # so that users can try webhooks with a local receiver
    }
    with Programs(folder, settings) as programs:
        programs.watch_node("node of Demo A", chains.a)
        programs.watch_node("node of Demo B", chains.b)
        programs.watch_node("node of Demo C", chains.c)
        programs.run("migration of the database", "migrate", "--verbosity", "0")
        port = site.rpartition(":")[2]
        programs.start("web server", "serve", "--port", port, "--workers", "1")
        programs.start("prover", "run_prover")
        attesters = [f"attester {number}" for number in range(1, THRESHOLD + 1)]
        for name, key in zip(attesters, keys.attesters, strict=False):
            programs.start(name, "attest", *ATTESTER_OPTIONS, ATTESTER_KEY=key.key.hex())
        programs.wait_for("prover", lambda log: "Proving on" in log)
        programs.wait_for("web server", lambda _: is_ready(site))
        for name in attesters:
            programs.wait_for(name, lambda log: "Signing as" in log)
        programs.check()  # the server that answers may be another demo's on the same port
        yield programs


def is_ready(site: str) -> bool:
    try:
        return requests.get(f"{site}/readyz", timeout=5).ok
    except requests.RequestException:
        return False


def sign_in(site: str, node: LocalNode, chain_id: int) -> str:
    """Sign in with the node's first account, and return its API key."""
    wallet = {"address": node.payer, "chainId": str(chain_id)}
    message = _post(f"{site}/sign-in/message", wallet)["message"]
    signature = node.sign_text(message)
    session = _post(f"{site}/sign-in", {"message": message, "signature": signature})
    return str(session["keys"][0]["key"])


def _post(url: str, content: dict[str, str]) -> dict[str, Any]:
    response = requests.post(url, json=content, timeout=TIMEOUT)
    body: dict[str, Any] = response.json()
    if not response.ok:
        raise DemoError(f"Signing in was refused: {body.get('error', response.status_code)}")
    return body
