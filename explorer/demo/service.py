"""The service of the demo, as an operator starts it, and signing in to it, as a wallet does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from explorer.demo.chains import CHAIN_A, CHAIN_B, DemoChains, Keys
from explorer.demo.local_node import LocalNode
from explorer.demo.processes import DemoFailed, Programs

WATCHED = ("--watch", "--keep", "--source", str(CHAIN_B), "--destination", str(CHAIN_A))

TIMEOUT = 30  # seconds


@contextmanager
def running_service(folder: Path, site: str, chains: DemoChains, keys: Keys) -> Iterator[Programs]:
    """Everything is ready inside, and has ended after it."""
    routes = folder / "routes.toml"
    routes.write_text(chains.routes(keys))
    settings = {
        "DEVELOPMENT": "1",
        "DATABASE_URL": f"sqlite:///{folder}/tacitus.sqlite3",
        "ROUTES_FILE": str(routes),
        "SIGNER_KEY": keys.signer,
        "DEMO_WALLET_NODE": chains.a.url,
        "LOG_LEVEL": "WARNING",
        "WEBHOOKS_TO_PRIVATE": "1",  # the receiver of someone who tries it is on this machine
    }
    with Programs(folder, settings) as programs:
        programs.watch_node("node of Demo A", chains.a)
        programs.watch_node("node of Demo B", chains.b)
        programs.run("migration of the database", "migrate", "--verbosity", "0")
        port = site.rpartition(":")[2]
        programs.start("web server", "serve", "--port", port, "--workers", "1")
        programs.start("prover", "run_prover")
        attesters = [f"attester {place}" for place in range(1, len(keys.attesters))]
        for name, key in zip(attesters, keys.attesters, strict=False):
            programs.start(name, "attest", *WATCHED, ATTESTER_KEY=key)
        programs.wait_for("prover", lambda said: "Proving on" in said)
        programs.wait_for("web server", lambda _: is_ready(site))
        for name in attesters:
            programs.wait_for(name, lambda said: "Signing as" in said)
        programs.check()  # the server that answers may be that of another demo, on the same port
        yield programs


def is_ready(site: str) -> bool:
    """Whether the server that was started there can do its work."""
    try:
        return requests.get(f"{site}/readyz", timeout=5).ok
    except requests.RequestException:
        return False


def sign_in(site: str, node: LocalNode, chain_id: int) -> str:
    """The API key of the node's first account, which signs in as a script does."""
    asked = {"address": node.payer, "chainId": str(chain_id)}
    message = _post(f"{site}/sign-in/message", asked)["message"]
    signed = {"message": message, "signature": node.sign_text(message)}
    return str(_post(f"{site}/sign-in", signed)["keys"][0]["key"])


def _post(address: str, content: dict[str, str]) -> dict[str, Any]:
    answer = requests.post(address, json=content, timeout=TIMEOUT)
    body: dict[str, Any] = answer.json()
    if not answer.ok:
        raise DemoFailed(f"Signing in was refused: {body.get('error', answer.status_code)}")
    return body
