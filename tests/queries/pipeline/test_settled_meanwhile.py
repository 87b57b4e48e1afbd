"""Two jobs follow a transaction: what one worker has settled the other does not overwrite."""

from typing import Any

import pytest

from queries.models import Batch, ChainCost, SentTransaction
from queries.pipeline import costs, following, undone
from tests.queries.pipeline.between import Change, between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)


def _later(asked: Any, answer: Any) -> None:
    if asked["method"] == "eth_getTransactionReceipt":
        answer["result"]["blockNumber"] = hex(int(answer["result"]["blockNumber"], 16) + 1_000_000)


def _never(asked: Any, answer: Any) -> None:
    if asked["method"] == "eth_getTransactionReceipt":
        answer["result"] = None


def _read_before(service: Service) -> SentTransaction:
    """As another worker has it in hand: mined, and not settled yet."""
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    row = SentTransaction.objects.get()
    assert row.settled
    row.settled, row.borne = False, None
    return row


@pytest.mark.parametrize("lie", [_later, _never])
def test_a_lie_comes_too_late(service: Service, lie: Change) -> None:
    stale = _read_before(service)
    settled = SentTransaction.objects.values().get()
    with between(service.node.url, retold(lie)) as (address, _):
        lane = through(service, address).chains().lane(CHAIN_ID)
        following.look_after(lane, [stale], 1, service.head())
    assert SentTransaction.objects.values().get() == settled


def test_a_lie_comes_while_the_other_one_settles_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its receipt and its costs, which are both kept or neither."""
    stale = _read_before(service)
    settled = SentTransaction.objects.values().get()
    cost = ChainCost.objects.values().get()
    SentTransaction.objects.update(settled=False, borne=None)
    ChainCost.objects.all().delete()

    def overtaken(row: SentTransaction, *, free: bool) -> None:
        with between(service.node.url, retold(_later)) as (address, _):
            lane = through(service, address).chains().lane(CHAIN_ID)
            following.look_after(lane, [stale], 1, service.head())
        costs.settle_costs(row, free=free)

    monkeypatch.setattr(following, "settle_costs", overtaken)
    lane = service.chains().lane(CHAIN_ID)
    following.look_after(lane, [SentTransaction.objects.get()], 1, service.head())
    assert SentTransaction.objects.values().get() == settled
    assert ChainCost.objects.values().get() == cost


def test_what_is_settled_is_not_replaced(service: Service) -> None:
    stale = _read_before(service)
    settled = SentTransaction.objects.values().get()
    following._replace(service.chains().lane(CHAIN_ID), stale)
    assert SentTransaction.objects.values().get() == settled


def test_what_is_told_anew_of_its_costs_takes_the_place_of_what_was_told(
    service: Service,
) -> None:
    """Also where the batch's fee covers no more than a part of the first."""
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    row = SentTransaction.objects.get()
    batch = Batch.objects.get()
    first = costs.price_of(row)
    for fee, part in ((first, 2), (first // 3, 4), (first, 1)):
        Batch.objects.update(fee=f"{fee:064x}")
        SentTransaction.objects.update(settled=False)
        row.refresh_from_db()
        row.gas_used = (row.gas_limit * 9 // 10) // part
        costs.settle_costs(row, free=False)
        price = costs.price_of(row)
        batch.refresh_from_db()
        assert int(batch.spent, 16) == min(price, fee)
        whole = ChainCost.objects.get()
        assert (whole.transactions, whole.gas, int(whole.spent, 16)) == (1, row.gas_used, price)


def test_what_was_undone_meanwhile_is_not_corrected(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    stale = SentTransaction.objects.get()
    spent = Batch.objects.get().spent
    undone.reopen(SentTransaction.objects.get())
    stale.gas_used = 1
    costs.settle_costs(stale, free=False, anew=True)
    row = SentTransaction.objects.get()
    assert (row.settled, row.gas_used, Batch.objects.get().spent) == (False, None, spent)
