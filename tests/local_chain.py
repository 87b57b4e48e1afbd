"""Local nodes and registries for tests that need a real chain."""

from collections.abc import Iterator

import pytest

from queries.chain.artifacts import load_artifact
from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry_calls import RegistryReads


class Deployed:
    """A contract on a local node."""

    def __init__(self, node: LocalNode, name: str, arguments: bytes = b"") -> None:
        self.node = node
        self.address = node.deploy(load_artifact(name).bytecode, arguments)
        self.reads = RegistryReads(self.ask)

    def ask(self, data: bytes) -> bytes:
        return self.node.call(self.address, data)

    def send(self, data: bytes) -> int:
        """Returns the gas used."""
        return self.node.send(self.address, data).gas_used


@pytest.fixture(scope="session")
def shared_node() -> Iterator[LocalNode]:
    """One node for tests that leave each other's contracts alone."""
    with local_node("--slots-in-an-epoch", "1") as node:
        yield node
