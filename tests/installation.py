"""All of it as an operator runs it: a chain, a registry, a server and a prover, as processes."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.solidity import load_artifact
from tests.commands import Manage, clean_environment
from tests.local_chain import CHAIN_ID, ETHER, HOLDER, SIGNER_KEY
from tests.served import served

ROUTES = """
[chains.{chain}]
name = "Local"
nodes = ["{node}"]
finality = 0
free = true

[[registries]]
kind = "native"
source = {chain}
destination = {chain}
address = "{registry}"
"""


@dataclass(frozen=True)
class Installation:
    """What a client needs to know of it, and the node that it stands on."""

    address: str
    key: str
    node: LocalNode
    registry: str


@dataclass(frozen=True)
class Prepared:
    """All that a server and a prover begin with."""

    settings: dict[str, str]
    key: str
    node: LocalNode
    registry: str


@contextmanager
def installation(
    repository: Path, folder: Path, manage: Manage, /, **variables: str
) -> Iterator[Installation]:
    """All of it, running, on a node of its own."""
    with (
        prepared(folder, manage, **variables) as it,
        proving(repository, folder, it.settings),
        served(repository, folder, **it.settings) as address,
    ):
        yield Installation(address, it.key, it.node, it.registry)


@contextmanager
def prepared(
    folder: Path, manage: Manage, blocks: int = 3, /, **variables: str
) -> Iterator[Prepared]:
    """`HOLDER` has 123 ether; the database has its tables and a key."""
    with local_node("--slots-in-an-epoch", "1") as node:
        registry = to_checksum_address(node.deploy(load_artifact("NativeRegistry").bytecode))
        for account, amount in ((HOLDER, 123), (Key.from_key(SIGNER_KEY).address, 9)):
            node.rpc.ask("anvil_setBalance", account, hex(amount * ETHER))
        node.rpc.ask("anvil_mine", hex(blocks))
        routes = folder / "routes.toml"
        routes.write_text(ROUTES.format(chain=CHAIN_ID, registry=registry, node=node.url))
        own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(routes), "SIGNER_KEY": SIGNER_KEY}
        settings = own | variables
        assert manage("migrate", **settings).returncode == 0
        key = manage("create_api_key", "--owner", HOLDER, **settings).stdout.strip()
        yield Prepared(settings, key, node, registry)


@contextmanager
def proving(repository: Path, folder: Path, settings: dict[str, str]) -> Iterator[None]:
    """A prover works inside, and ends as it is told to."""
    with (folder / "prover").open("w") as log:
        prover = subprocess.Popen(
            [sys.executable, "manage.py", "run_prover", "--threads=2"],
            cwd=repository,
            env=clean_environment(folder, **settings),
            stdout=log,
            stderr=log,
        )
    try:
        until = time.monotonic() + 60
        while "Proving on" not in (said := (folder / "prover").read_text()):
            assert prover.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.05)
        yield
    finally:
        prover.terminate()
        assert prover.wait(timeout=30) == 0, (folder / "prover").read_text()
