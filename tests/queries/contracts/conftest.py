"""A registry by trie keys; a recorded block, and an events verifier whose registry knows it."""

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from tests.queries.contracts.recorded_events import RecordedBlock, Verifier, recorded_block
from tests.rigs.deployed_contracts import DeployedContract


@pytest.fixture(scope="module")
def block() -> RecordedBlock:
    """A block with 215 receipts."""
    return recorded_block(22432102)


@pytest.fixture
def verifier(shared_node: LocalNode, block: RecordedBlock) -> Verifier:
    verifier = Verifier(shared_node)
    verifier.know(block)
    return verifier


@pytest.fixture(scope="module")
def registry(shared_node: LocalNode) -> DeployedContract:
    """It takes accounts and slots by trie key."""
    return DeployedContract(shared_node, "SettableRegistry", encode(["bool", "bool"], [True, True]))
