"""Provers on the database under test, which know the chain by other addresses."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from django.db import connection

from queries.routes import NodeAddress, Routes
from tests.commands import clean_environment
from tests.queries.pipeline.service import CHAIN_ID, SIGNER_KEY, Service

REPOSITORY = Path(__file__).parents[3]


def database_url() -> str:
    held = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{held['NAME']}"
    user = f"{held['USER']}:{held['PASSWORD']}" if held["PASSWORD"] else held["USER"]
    return f"postgres://{user}@{held['HOST']}:{held['PORT'] or 5432}/{held['NAME']}"


def through(service: Service, *addresses: str) -> Service:
    """The same service, whose prover knows the chain by these addresses alone."""
    nodes = tuple(NodeAddress(address) for address in addresses)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=nodes)
    return replace(service, routes=replace(service.routes, chains={CHAIN_ID: chain}))


def routes_file(folder: Path, routes: Routes, node: str) -> Path:
    """These routes, with another address for the node."""
    file = folder / "routes.toml"
    registry = routes.registries[CHAIN_ID, CHAIN_ID]
    confirmations = routes.chains[CHAIN_ID].confirmations
    file.write_text(
        f'[chains.{CHAIN_ID}]\nname = "Local"\nnodes = ["{node}"]\nfinality = 0\nfree = true\n'
        f"confirmations = {confirmations}\n"
        f'[[registries]]\nkind = "native"\nsource = {CHAIN_ID}\ndestination = {CHAIN_ID}\n'
        f'address = "{registry.address}"\n'
    )
    return file


@contextmanager
def prover(folder: Path, routes: Path, *, lease: int = 2) -> Iterator[subprocess.Popen[bytes]]:
    """One that runs as a process of its own; what it says is appended to `folder`/log."""
    variables = {
        "DEVELOPMENT": "1",
        "DATABASE_URL": database_url(),
        "ROUTES_FILE": str(routes),
        "SIGNER_KEY": SIGNER_KEY,
        "PROVER_LEASE_SECONDS": str(lease),
    }
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_prover", "--threads", "1"],
            cwd=REPOSITORY,
            env=clean_environment(folder, **variables),
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.kill() if process.poll() is None else None
            process.wait(timeout=30)
