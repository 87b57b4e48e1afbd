"""Jobs that are ready together share transactions, and no batch pays more than it would alone."""

from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.chain.signer import decode_transaction
from queries.models import Fact, SentTransaction
from queries.proving.packing import CALLDATA_BYTES
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False) as running:
        running.mine(8)
        yield running


def _blocks(service: Service, count: int, entry: Any = None) -> dict[str, Any]:
    last = service.head() - 1
    return {str(CHAIN_ID): {f"block:{last - n}": entry or BALANCE for n in range(count)}}


def _price(row: SentTransaction) -> int:
    return (row.gas_used or 0) * int(row.gas_price, 16)


def _calldata(row: SentTransaction) -> bytes:
    return decode_transaction(row.raw).data


@pytest.mark.parametrize("same_account", [False, True])
def test_a_small_batch_does_not_pay_for_a_large_one(
    service: Service, *, same_account: bool
) -> None:
    """Otherwise a stranger could use up a fee that was enough."""
    last = service.head() - 1
    slots = [hex(n) for n in range(60)]
    if same_account:
        block, accounts = last, {HOLDER: {"props": ["NONCE"], "slots": slots}}
    else:
        block, accounts = last - 1, {Key.create().address: {"slots": slots}}
    small = {str(CHAIN_ID): {f"block:{last}": BALANCE}}
    large = {str(CHAIN_ID): {f"block:{block}": {"accounts": accounts}}}
    estimates = [service.estimate(data).json() for data in (small, large)]
    batches = [
        service.submit(data, fee=estimate["feeNeeded"])
        for data, estimate in zip((small, large), estimates, strict=True)
    ]
    service.work(*batches)
    statuses = [service.status(batch) for batch in batches]
    assert [status["queryStatus"] for status in statuses] == ["DONE", "DONE"]
    row = SentTransaction.objects.get()
    spent = [int(status["spent"]) for status in statuses]
    assert sum(spent) == _price(row)
    for paid, estimate in zip(spent, estimates, strict=True):
        assert 0 < paid < int(estimate["gas"]) * int(row.gas_price, 16)


def test_an_account_with_thousands_of_slots_takes_several_transactions(service: Service) -> None:
    slots = {HOLDER: {"props": ["BALANCE"], "slots": [hex(n) for n in range(900)]}}
    batch = service.submit(_blocks(service, 1, {"accounts": slots}), fee=str(10 * ETHER))
    service.work(batch, seconds=60)
    assert service.status(batch)["queryStatus"] == "DONE"
    rows = list(SentTransaction.objects.all())
    assert len(rows) > 1
    for row in rows:
        assert row.succeeded
        assert (row.gas_used or 0) < row.gas_limit <= 2**24
        assert len(_calldata(row)) <= CALLDATA_BYTES


def test_a_batch_pays_for_failed_transactions_too(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate_gas: Any = ChainClient.estimate_gas_for_calls

    def underestimate(*arguments: Any, **more: Any) -> list[Any]:
        return [gas * 8 // 10 for gas in estimate_gas(*arguments, **more)]

    monkeypatch.setattr(ChainClient, "estimate_gas_for_calls", underestimate)
    batch = service.submit(_blocks(service, 2), fee=str(ETHER))
    service.work_until(SentTransaction.objects.exists)
    monkeypatch.setattr(ChainClient, "estimate_gas_for_calls", estimate_gas)
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    rows = list(SentTransaction.objects.order_by("nonce"))
    # Blocks that failed together are tried again separately.
    assert [row.succeeded for row in rows] == [False, True, True]
    paid = sum(map(_price, rows))
    assert int(service.status(batch)["spent"]) == paid
    for step in service.status(batch)["queries"][0]["steps"][2:]:
        assert step["transactionHash"] != rows[0].mined_hash


def test_a_fact_is_stored_once_for_500_batches(node: LocalNode) -> None:
    with running_service(node) as service:
        service.mine(8)
        block = service.head() - 2
        batches = [service.ask_balance(HOLDER, block) for _ in range(500)]
        service.work(*batches)
        (fact,) = Fact.objects.all()
        assert (fact.account, fact.name) == (HOLDER, "BALANCE")
        assert service.status(batches[-1])["queryStatus"] == "DONE"
