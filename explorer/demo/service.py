"""The service of the demo: database, server, prover and attesters, as an operator starts them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from explorer.demo.chains import CHAIN_A, CHAIN_B, DemoChains, Keys
from explorer.demo.processes import Programs

WATCHED = ("--watch", "--keep", "--source", str(CHAIN_B), "--destination", str(CHAIN_A))


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
            programs.wait_for(name, lambda said: "Speaking as" in said)
        yield programs


def is_ready(site: str) -> bool:
    """Whether the server that was started there can do its work."""
    try:
        return requests.get(f"{site}/readyz", timeout=5).ok
    except requests.RequestException:
        return False
