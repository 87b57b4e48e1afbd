"""Jobs that are ready together share transactions, and nobody pays more for that than alone."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet
from eth_account import Account as Key
from ulid import ULID

from accounts.models import Account
from accounts.shared.wallets import Wallet
from explorer.demo.local_node import LocalNode, local_node
from queries.chain.sender import GAS_PRICE_ORACLE, Destination
from queries.chain.signer import parts_of
from queries.database.clock import shared_now
from queries.database.leases import due
from queries.models import Batch, BlockJob, InTurn, Query, SentTransaction
from queries.prover.context import Chains
from queries.prover.worker import work_once
from queries.proving.packing import CALLDATA_BYTES
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.rigs.local_chain import a_day_ago

pytestmark = pytest.mark.django_db(transaction=True)
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
FEW, MANY = 100, 20_000


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1", *a_day_ago()) as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False) as running:
        running.mine(8)
        yield running


def _blocks(service: Service, count: int, entry: Any = None) -> dict[str, Any]:
    newest = service.head() - 1
    entry = BALANCE if entry is None else entry
    return {str(CHAIN_ID): {f"block:{newest - number}": entry for number in range(count)}}


def _price(row: SentTransaction) -> int:
    return (row.gas_used or 0) * int(row.gas_price, 16)


def _calldata(row: SentTransaction) -> bytes:
    return parts_of(row.raw).data


def test_blocks_of_one_batch_go_in_one_transaction_whose_cost_they_share(service: Service) -> None:
    alone = service.submit(_blocks(service, 1), fee=str(ETHER))
    service.work(alone)
    single = SentTransaction.objects.get()
    service.mine(8)
    service.chains().head(CHAIN_ID)
    batch = service.submit(_blocks(service, 5), fee=str(ETHER))
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    row = SentTransaction.objects.exclude(pk=single.pk).get()
    assert row.jobs.count() == 5
    # Four times the 21,000 of a transaction are spared.
    assert (row.gas_used or 0) < 5 * (single.gas_used or 0) - 4 * 20_000
    told = service.status(batch)
    assert int(told["spent"]) == _price(row)
    shares = [int(query.cost, 16) for query in Query.objects.filter(batch=batch)]
    assert sum(shares) == _price(row)
    assert max(shares) - min(shares) < max(shares) // 20


def test_batches_of_two_people_share_and_pay_less_than_alone(service: Service) -> None:
    """One shows much and stores little, the other stores much: neither pays for the other."""
    newest = service.head() - 1
    many = {Key.create().address: {"slots": [hex(n) for n in range(60)]}}
    dear = {str(CHAIN_ID): {f"block:{newest}": {"accounts": many}}}
    cheap = {str(CHAIN_ID): {f"block:{newest - 1}": BALANCE}}
    told = [service.estimate(data).json() for data in (dear, cheap)]
    batches = [
        service.submit(data, fee=estimate["feeNeeded"])
        for data, estimate in zip((dear, cheap), told, strict=True)
    ]
    service.work(*batches)
    row = SentTransaction.objects.get()
    spent = [int(service.status(batch)["spent"]) for batch in batches]
    assert sum(spent) == _price(row)
    for paid, estimate in zip(spent, told, strict=True):
        assert 0 < paid < int(estimate["gas"]) * int(row.gas_price, 16)


def test_who_asks_little_of_an_account_does_not_pay_for_who_asks_much_of_it(
    service: Service,
) -> None:
    """One block, one account: else any stranger could use up a fee that was enough."""
    block = f"block:{service.head() - 1}"
    cheap = {str(CHAIN_ID): {block: BALANCE}}
    slots = {HOLDER: {"props": ["NONCE"], "slots": [hex(n) for n in range(80)]}}
    dear = {str(CHAIN_ID): {block: {"accounts": slots}}}
    told = [service.estimate(data).json() for data in (cheap, dear)]
    batches = [
        service.submit(data, fee=estimate["feeNeeded"])
        for data, estimate in zip((cheap, dear), told, strict=True)
    ]
    service.work(*batches)
    assert [service.status(batch)["queryStatus"] for batch in batches] == ["DONE", "DONE"]
    row = SentTransaction.objects.get()
    spent = [int(service.status(batch)["spent"]) for batch in batches]
    assert sum(spent) == _price(row)
    for paid, estimate in zip(spent, told, strict=True):
        assert 0 < paid < int(estimate["gas"]) * int(row.gas_price, 16)


def test_the_reported_fee_covers_the_whole_batch(service: Service) -> None:
    data = _blocks(service, 4, {"header": ["STATE_ROOT"], **BALANCE})
    told = service.estimate(data).json()
    assert told["transactions"] == 1
    assert int(told["feeNeeded"]) > int(told["cost"])  # each block may have to go alone
    batch = service.submit(data, fee=told["feeNeeded"])
    service.work(batch)
    row = SentTransaction.objects.get()
    assert told["bytes"] == len(_calldata(row))
    assert 0 <= int(told["gas"]) - (row.gas_used or 0) < 5_000


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


def test_what_was_mined_and_failed_is_borne_as_well(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimated: Any = Destination.gas_needed_by_each

    def too_little(*arguments: Any, **more: Any) -> list[Any]:
        return [gas * 8 // 10 for gas in estimated(*arguments, **more)]

    monkeypatch.setattr(Destination, "gas_needed_by_each", too_little)
    batch = service.submit(_blocks(service, 2), fee=str(ETHER))
    chains = service.chains()
    _until(chains, SentTransaction.objects.all())
    monkeypatch.setattr(Destination, "gas_needed_by_each", estimated)
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    rows = list(SentTransaction.objects.order_by("nonce"))
    # What failed together is tried again apart.
    assert [row.succeeded for row in rows] == [False, True, True]
    paid = sum(map(_price, rows))
    assert int(service.status(batch)["spent"]) == paid
    assert sum(int(query.cost, 16) for query in Query.objects.filter(batch=batch)) == paid
    for step in service.status(batch)["queries"][0]["steps"][2:]:
        assert step["transactionHash"] != rows[0].mined_hash


def test_an_op_stack_chains_fee_for_its_data_is_reported_and_held_back(service: Service) -> None:
    fee = 77 * 10**14  # beside which it hardly matters what gas costs a moment later
    code = bytes((0x66, *fee.to_bytes(7), 0x5F, 0x52, 0x60, 0x20, 0x5F, 0xF3))  # answers the fee
    service.node.rpc.ask("anvil_setCode", GAS_PRICE_ORACLE, f"0x{code.hex()}")
    service.mine(2)
    try:
        told = service.estimate(_blocks(service, 1)).json()
        gas = int(told["gas"]) * int(told["gasPrice"])
        assert int(told["feeNeeded"]) == int(told["cost"]) == gas + 2 * fee
        batch = service.submit(_blocks(service, 1), fee=str(gas + fee))
        service.work(batch)
        assert service.status(batch)["code"] == "fee_too_low"
    finally:
        service.node.rpc.ask("anvil_setCode", GAS_PRICE_ORACLE, "0x")
        service.mine(1)


def _until(chains: Chains, there: QuerySet[Any]) -> None:
    until = time.monotonic() + 20
    while not there.exists():
        assert time.monotonic() < until
        if not work_once(chains):
            time.sleep(0.05)


def test_the_next_row_is_found_as_fast_in_a_long_queue_as_in_a_short_one() -> None:
    """Beside 20,000 due rows; it took 30 times as long when all of them were sorted."""
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    now = shared_now()
    turns = [now + timedelta(milliseconds=number) for number in range(MANY)]
    batches = [
        Batch(id=str(ULID()), owner=owner, destination=1, submitted=now, look_again=now, turn=turn)
        for turn in turns
    ]
    jobs = [
        BlockJob(source=1, destination=1, block=number, look_again=now, turn=turn)
        for number, turn in enumerate(turns)
    ]
    route: QuerySet[BlockJob] = BlockJob.objects.filter(source=1, destination=1)
    queues: list[QuerySet[Any]] = [Batch.objects.all(), BlockJob.objects.all(), route]

    Batch.objects.bulk_create(batches[:FEW])
    BlockJob.objects.bulk_create(jobs[:FEW])
    short = [_seconds_to_find_next(queue) for queue in queues]
    Batch.objects.bulk_create(batches[FEW:])
    BlockJob.objects.bulk_create(jobs[FEW:])
    for queue, before in zip(queues, short, strict=True):
        assert _seconds_to_find_next(queue) < 8 * before


def _seconds_to_find_next(queue: QuerySet[InTurn]) -> float:
    """The least of twenty times, because other programs use the machine as well."""
    times = []
    for _ in range(20):
        found, begin = due(queue, shared_now())[:1], time.perf_counter()
        assert list(found)
        times.append(time.perf_counter() - begin)
    return min(times)
