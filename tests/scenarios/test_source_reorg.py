"""Reorgs of a source chain: facts are those of the canonical chain."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from eth_account import Account as Key

from tests.rigs.anvil import Chain
from tests.rigs.service import BALANCE, Service, accounts
from tests.scenarios.fixtures import Install

pytestmark = pytest.mark.either_database

L1, L2, FINALITY = 1337, 31337, 3


@dataclass(frozen=True)
class Rollup:
    """An L1, whose blocks are final with `FINALITY` others on top, and its L2."""

    l1: Chain
    l2: Chain
    service: Service

    def submit(self, block: int, account: str) -> str:
        return self.service.submit({L1: {block: accounts(account)}})


@pytest.fixture(scope="module")
def rollup(install: Install) -> Iterator[Rollup]:
    with closing(Chain(L1)) as l1, closing(Chain(L2)) as l2, install() as service:
        l1.mine(12)
        service.add_chain(l1, finality=FINALITY)
        service.add_chain(l2)
        service.add_registry("optimism", l1, l2)
        service.serve()
        service.prove()
        yield Rollup(l1, l2, service)


def test_a_block_replaced_before_it_is_final_is_not_proven(rollup: Rollup) -> None:
    l1, service, holder = rollup.l1, rollup.service, Key.create().address
    l1.set_balance(holder, 1)
    l1.mine()
    l1.send(holder, "0x", value=1)  # in the block that the reorg replaces
    block = l1.head
    replaced = rollup.l2.set_l1_block(l1, block)
    batch = rollup.submit(block, holder)
    service.wait_for(batch, "block_not_final")
    l1.reorganise(1)
    assert rollup.l2.set_l1_block(l1, block) != replaced
    service.wait_for(batch, "block_not_final")
    assert not service.is_proven(holder, block, route=(L1, L2))
    l1.mine(FINALITY)
    service.wait(batch)
    assert service.field(holder, block, BALANCE, route=(L1, L2)) == 1


def test_the_replacement_of_an_accumulated_block_is_reported(rollup: Rollup) -> None:
    """Proven facts stay, and nothing of the new block is proven."""
    l1, service = rollup.l1, rollup.service
    first, second = Key.create().address, Key.create().address
    block = l1.mine()
    l1.mine(FINALITY)
    rollup.l2.set_l1_block(l1, block)
    batch = rollup.submit(block, first)
    service.wait(batch)
    l1.reorganise(1 + FINALITY)
    rollup.l2.set_l1_block(l1, block)
    rejection = service.rejection(rollup.submit(block, second))
    assert (rejection["code"], rejection["retryable"]) == ("another_block_accumulated", False)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert service.is_proven(first, block, route=(L1, L2))
    assert not service.is_proven(second, block, route=(L1, L2))
