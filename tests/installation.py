"""All of it as an operator runs it: a chain, a registry, a server and a prover, as processes."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from queries.chain.local_node import LocalNode, local_node
from queries.chain.solidity import load_artifact
from tests.commands import Manage, clean_environment
from tests.local_chain import CHAIN_ID, ETHER, HOLDER, SIGNER_KEY
from tests.served import served

__all__ = [
    "HOLDER",
    "Installation",
    "Prepared",
    "installation",
    "installed_on",
    "prepared",
    "proving",
]

ROUTES = """
[chains.{chain}]
name = "Local"
nodes = {nodes}
finality = 0
free = true
aliases = {aliases}
{ens}

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
    prover: int  # its process id


@dataclass(frozen=True)
class Prepared:
    """All that a server and a prover begin with."""

    settings: dict[str, str]
    key: str
    node: LocalNode
    registry: str


@dataclass(frozen=True)
class Told:
    """What the routes file says of the one chain, beside its own node, and of others; and how
    many threads the prover has.
    """

    nodes: Callable[[str], list[str]] = lambda node: [node]
    aliases: Sequence[str] = ()
    ens: str = ""  # the address of its registry of names
    threads: int = 2
    more: Callable[[LocalNode], str] = lambda _: ""  # chains and registries, in its own words


ITSELF = Told()


@contextmanager
def installation(
    repository: Path, folder: Path, manage: Manage, told: Told = ITSELF, /, **variables: str
) -> Iterator[Installation]:
    """All of it, running, on a node of its own."""
    with (
        local_node("--slots-in-an-epoch", "1") as node,
        installed_on(node, repository, folder, manage, told, **variables) as running,
    ):
        yield running


@contextmanager
def installed_on(
    node: LocalNode,
    repository: Path,
    folder: Path,
    manage: Manage,
    told: Told = ITSELF,
    /,
    **variables: str,
) -> Iterator[Installation]:
    """The same, on a node that goes on when all else has stopped; logs are in `folder`."""
    it = _prepared_on(node, folder, manage, 3, told, **variables)
    with (
        proving(repository, folder, it.settings, threads=told.threads) as prover,
        served(repository, folder, **it.settings) as address,
    ):
        yield Installation(address, it.key, it.node, it.registry, prover)


@contextmanager
def prepared(
    folder: Path, manage: Manage, blocks: int = 3, /, **variables: str
) -> Iterator[Prepared]:
    with local_node("--slots-in-an-epoch", "1") as node:
        yield _prepared_on(node, folder, manage, blocks, ITSELF, **variables)


def _prepared_on(
    node: LocalNode,
    folder: Path,
    manage: Manage,
    blocks: int,
    told: Told,
    /,
    **variables: str,
) -> Prepared:
    """`HOLDER` has 123 ether; the database has its tables and a key."""
    registry = to_checksum_address(node.deploy(load_artifact("NativeRegistry").bytecode))
    for account, amount in ((HOLDER, 123), (Key.from_key(SIGNER_KEY).address, 9)):
        node.rpc.ask("anvil_setBalance", account, hex(amount * ETHER))
    node.rpc.ask("anvil_mine", hex(blocks))
    routes = folder / "routes.toml"
    shown = {"aliases": list(told.aliases), "nodes": json.dumps(told.nodes(node.url))}
    shown["ens"] = f'ens_registry = "{told.ens}"' if told.ens else ""
    own_routes = ROUTES.format(chain=CHAIN_ID, registry=registry, **shown)
    routes.write_text(own_routes + told.more(node))
    own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(routes), "SIGNER_KEY": SIGNER_KEY}
    settings = own | variables
    assert manage("migrate", **settings).returncode == 0
    key = manage("create_api_key", "--owner", HOLDER, **settings).stdout.strip()
    return Prepared(settings, key, node, registry)


@contextmanager
def proving(
    repository: Path, folder: Path, settings: dict[str, str], *, threads: int = 2
) -> Iterator[int]:
    """A prover's process id, from when it works until it has ended as it was told to."""
    with (folder / "prover").open("w") as log:
        prover = subprocess.Popen(
            [sys.executable, "manage.py", "run_prover", f"--threads={threads}"],
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
        yield prover.pid
    finally:
        prover.terminate()
        assert prover.wait(timeout=30) == 0, (folder / "prover").read_text()
