"""A hash that the registry was told is paid for once, whatever the node says that stands first."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.registry_reads import call_data
from queries.models import Batch, SentTransaction
from queries.pipeline import following, last_looks
from queries.routes import NodeAddress
from tests.queries.pipeline.between import between, called, retold
from tests.queries.pipeline.service import CHAIN_ID, Service
from tests.queries.pipeline.test_made_up_receipts import AWAY, MadeUp
from tests.queries.pipeline.two_chains import TwoChains, ask_balance, is_right

pytestmark = pytest.mark.django_db(transaction=True)
DENIED = tuple(
    f"0x{call_data(f'{view}(uint256)', 0)[:4].hex()}" for view in ("recorded", "accumulated")
)


@pytest.fixture
def optimism(chains: TwoChains) -> Iterator[Service]:
    with chains.serving_optimism() as running:
        yield running


def by_way_of(service: Service, *addresses: str) -> Service:
    """The same service, whose prover knows the destination by these addresses alone."""
    known = dict(service.routes.chains)
    known[CHAIN_ID] = replace(known[CHAIN_ID], nodes=tuple(map(NodeAddress, addresses)))
    return replace(service, routes=replace(service.routes, chains=known))


def test_one_node_that_denies_it_has_nothing_paid_for_again(
    optimism: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    chains.tell_the_l2(block)

    def deny(asked: Any, answer: Any) -> None:
        if called(asked).startswith(DENIED):
            answer["result"] = f"0x{64 * '0'}"

    node = chains.destination.url
    with between(node, retold(deny)) as (address, _):
        prover = by_way_of(optimism, address, node, node)
        batch = ask_balance(prover, block)
        prover.work(batch)
    is_right(optimism, chains, batch, block)
    assert SentTransaction.objects.filter(brings_hash=True).count() == 1


def test_one_that_was_settled_for_a_node_that_was_alone_and_lied_is_sent_in_the_end(
    optimism: Service, chains: TwoChains, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that comes after it waits for its nonce."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.5))
    monkeypatch.setattr(following, "LEFT_BEHIND_AFTER", timedelta(seconds=1))
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)
    block = chains.final_block()
    chains.tell_the_l2(block)
    node = chains.destination
    liar = MadeUp(optimism, "0x1", swallows=True)
    with between(node.url, liar.handle) as (address, _):
        alone = by_way_of(optimism, address, AWAY)
        batch = ask_balance(alone, block)
        alone.work_until(SentTransaction.objects.filter(settled=True).exists)
        prover = by_way_of(optimism, address, node.url, node.url)
        held = prover.chains()

        def done() -> bool:
            node.rpc.ask("anvil_mine", "0x1", "0x2")
            return Batch.objects.filter(pk=batch).exclude(ended=None).exists()

        prover.work_until(done, chains=held)
    is_right(optimism, chains, batch, block)
    last = SentTransaction.objects.latest("nonce")
    mined = node.rpc.ask("eth_getTransactionCount", held.sender, "latest")
    assert int(mined, 16) == last.nonce + 1
