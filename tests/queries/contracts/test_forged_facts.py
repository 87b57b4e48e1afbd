"""No false fact, by any of the ways that the design's fifteen points name, is ever read."""

from collections.abc import Callable

import pytest
from eth_abi.abi import encode

from queries.chain.local_node import LocalNode, TransactionReverted
from tests.local_chain import Deployed, error_name, undone
from tests.queries.attacks.forgeries import FORGERIES, Forgery
from tests.queries.attacks.header_forgeries import HEADER_FORGERIES
from tests.queries.attacks.hop_forgeries import FROM, HOP_FORGERIES, honest

pytestmark = pytest.mark.no_database

ALL = FORGERIES | HEADER_FORGERIES | HOP_FORGERIES
POINTS = range(1, 17)


@pytest.fixture(scope="module")
def registry(shared_node: LocalNode) -> Deployed:
    return Deployed(shared_node, "SettableRegistry", encode(["bool", "bool"], [True, True]))


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_it_is_refused_or_the_truth_is_read(
    registry: Deployed, make: Callable[[], Forgery]
) -> None:
    forged = make()
    with undone(registry.node):
        for call in forged.setup:
            registry.send(call)
        before = registry.ask(forged.question) if forged.question else b""
        if forged.error:
            with pytest.raises(TransactionReverted) as refusal:
                registry.send(forged.calldata)
            assert error_name("SettableRegistry", refusal.value.data) == forged.error
            if forged.question:
                assert registry.ask(forged.question) == before != forged.lie
        else:
            registry.send(forged.calldata)
            assert registry.ask(forged.question) != forged.lie


def test_every_point_of_the_design_is_attacked() -> None:
    for point in POINTS:
        assert [name for name in ALL if name.startswith(f"point_{point}_")], point


@pytest.mark.parametrize("back", [1, 5_000, 8_191])
def test_an_honest_hop_is_believed(registry: Deployed, back: int) -> None:
    hop = honest(FROM - back)
    with undone(registry.node):
        for call in (*hop.setup, hop.calldata):
            registry.send(call)
        assert registry.ask(hop.question) == hop.lie
