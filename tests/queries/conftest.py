"""Chains of a module's own, and the service on one of them."""

from collections.abc import Iterator

import pytest

from explorer.demo.local_node import LocalNode, local_node
from tests.queries.prover.service import ETHER, HOLDER, Service, running_service
from tests.queries.prover.two_chains import TwoChains, two_chains
from tests.rigs.deployed_contracts import day_old_genesis


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    """A chain on which `HOLDER` has 5 ether."""
    with local_node("--slots-in-an-epoch", "1", *day_old_genesis()) as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    """A service on the module's node, which mines automatically again after each test."""
    with running_service(node) as running:
        running.mine(12)
        yield running
        node.rpc.ask_many("evm_setAutomine", [(True,)])


@pytest.fixture(scope="module")
def chains() -> Iterator[TwoChains]:
    with two_chains() as both:
        yield both
