"""Jobs that are ready together share transactions, and nobody pays more for that than alone."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import QuerySet
from eth_account import Account as Key

from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry import as_if_accumulated
from queries.chain.sender import GAS_PRICE_ORACLE, Destination
from queries.chain.signer import parts_of
from queries.limits import Limits
from queries.models import BlockJob, Query, SentTransaction, Share
from queries.pipeline import anchors, prove
from queries.pipeline.chains import Chains
from queries.pipeline.fees import Pricing
from queries.pipeline.pieces import Anchor, Piece, pieces_of
from queries.pipeline.queue import claim_batch, claim_job, shared_now
from queries.pipeline.settle import settle
from queries.pipeline.worker import work_once
from queries.proving.packing import CALLDATA_BYTES
from queries.wait_reasons import WaitCode
from tests.local_chain import a_day_ago
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between, methods
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.registry_reads import RegistryReads

pytestmark = pytest.mark.django_db(transaction=True)
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


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


def one_by_one(service: Service) -> Service:
    """The same service, whose prover gathers no jobs."""
    return replace(service, routes=replace(service.routes, limits=Limits(work_slice=0)))


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


def test_who_has_all_that_was_asked_pays_nothing_more(node: LocalNode) -> None:
    """Its facts are on chain and are being confirmed, when others ask for more of the block."""
    with running_service(node, free=False, confirmations=6) as service:
        service.mine(8)
        block = f"block:{service.head() - 1}"
        header = {"header": ["STATE_ROOT"]}
        first = [
            service.submit({str(CHAIN_ID): {block: entry}}, fee=str(ETHER))
            for entry in (BALANCE, header)
        ]
        chains = service.chains()
        _until(chains, SentTransaction.objects.exclude(mined_block=None))
        slots = {HOLDER: {"slots": [hex(n) for n in range(40)]}}
        more = {"header": ["COINBASE"], "accounts": slots}
        later = service.submit({str(CHAIN_ID): {block: more}}, fee=str(ETHER))
        _until(chains, SentTransaction.objects.filter(nonce__gt=_one().nonce))
        assert SentTransaction.objects.latest("nonce").shares.get().batch_id == later
        service.mine(8)
        service.work(*first, later)
        (row, _) = SentTransaction.objects.order_by("nonce")
        assert sum(int(service.status(batch)["spent"]) for batch in first) == _price(row)


def _one() -> SentTransaction:
    row = SentTransaction.objects.order_by("nonce").first()
    assert row
    return row


def test_what_is_told_before_is_what_it_takes_together(service: Service) -> None:
    data = _blocks(service, 4, {"header": ["STATE_ROOT"], **BALANCE})
    told = service.estimate(data).json()
    assert told["transactions"] == 1
    assert int(told["feeNeeded"]) > int(told["cost"])  # each block may have to go alone
    batch = service.submit(data, fee=told["feeNeeded"])
    service.work(batch)
    row = SentTransaction.objects.get()
    assert told["bytes"] == len(_calldata(row))
    assert 0 <= int(told["gas"]) - (row.gas_used or 0) < 5_000


def test_headers_that_several_blocks_rest_on_are_shown_once(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchors, "BLOCKHASH_REACH", 10)
    monkeypatch.setattr(anchors, "HISTORY_REACH", 10)
    with running_service(node) as service:
        service.mine(30)
        top = service.head() - 20
        data = {str(CHAIN_ID): {f"block:{top - n}": BALANCE for n in range(0, 10, 3)}}
        batch = service.submit(data)
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"
        row = SentTransaction.objects.get()
        # From the lowest of them up to the window: some twenty headers, not sixty.
        assert len(_calldata(row)) < 24 * 600


def test_a_block_far_below_is_reached_by_stepping_stones(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchors, "BLOCKHASH_REACH", 10)
    monkeypatch.setattr(anchors, "HISTORY_REACH", 10)
    with running_service(node) as service:
        service.mine(1)
        block = service.head()
        service.mine(260)
        estimate = service.estimate({str(CHAIN_ID): {f"block:{block}": BALANCE}}).json()
        assert (estimate["complete"], estimate["transactions"]) == (True, 2)
        (told,) = estimate["blocks"]
        assert told["waitsFor"].endswith("headers are sent first, in transactions of their own.")
        batch = service.ask_balance(HOLDER, block)
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"
        rows = list(SentTransaction.objects.order_by("nonce"))
        assert len(rows) == 2
        assert all(len(_calldata(row)) <= CALLDATA_BYTES for row in rows)
        assert abs(int(told["price"]["gas"]) - sum(row.gas_used or 0 for row in rows)) < 20_000
        assert int(estimate["gas"]) == int(told["price"]["gas"])
        (query,) = Query.objects.filter(batch=batch)
        assert query.header_transaction == query.account_transaction == rows[1]
        assert int(query.cost, 16) == sum(map(_price, rows))


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32602, "message": "too many arguments, want at most 2"},
        {"code": 3, "message": "execution reverted"},
    ],
)
def test_where_nodes_suppose_nothing_no_price_is_told_and_that_is_said(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch, error: dict[str, Any]
) -> None:
    def plain(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if "eth_estimateGas" in methods(question) and len(question["params"]) > 1:
            connection.answer(json.dumps({"id": question["id"], "error": error}).encode())
        else:
            connection.answer(pass_on())

    monkeypatch.setattr(anchors, "BLOCKHASH_REACH", 10)
    monkeypatch.setattr(anchors, "HISTORY_REACH", 10)
    with running_service(node) as service, between(node.url, plain) as (address, _):
        service.mine(1)
        block = service.head()
        service.mine(260)
        chain = through(service, address).routes.chains[CHAIN_ID]
        service.routes.chains[CHAIN_ID] = chain  # type: ignore[index]
        told = service.estimate({str(CHAIN_ID): {f"block:{block}": BALANCE}}).json()
        (found,) = told["blocks"]
        assert (told["complete"], found["price"]) == (False, None)
        assert found["waitsFor"].endswith("so the fee given here does not include it.")


def test_a_registry_can_be_asked_as_if_a_block_were_accumulated(service: Service) -> None:
    address = service.registry.address
    as_if = as_if_accumulated(address, {7: b"\x01" * 32, 10**9: b"\x02" * 32})

    def told(data: bytes) -> bytes:
        call = {"to": address, "data": f"0x{data.hex()}"}
        return bytes.fromhex(service.node.rpc.ask("eth_call", call, "latest", as_if)[2:])

    reads = RegistryReads(told)
    assert [reads.accumulated(block) for block in (7, 8, 10**9)] == [
        b"\x01" * 32,
        bytes(32),
        b"\x02" * 32,
    ]
    assert service.reads.accumulated(7) == bytes(32)


def test_two_workers_send_the_headers_down_to_blocks_far_below_once(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw that none are on their way; one of them is the first to store what it signed."""
    monkeypatch.setattr(anchors, "BLOCKHASH_REACH", 10)
    monkeypatch.setattr(anchors, "HISTORY_REACH", 10)
    with running_service(node) as running:
        service = one_by_one(running)
        service.mine(1)
        block = service.head()
        service.mine(260)
        batches = [service.ask_balance(HOLDER, block + place) for place in (0, 3)]
        other = service.chains()

        def slowly(*arguments: Any, **more: Any) -> Any:
            monkeypatch.setattr(Pricing, "together", together)
            service.node.rpc.ask_many("evm_setAutomine", [(False,)])
            BlockJob.objects.filter(lease_until=None).update(look_again=shared_now())
            until = time.monotonic() + 10
            while not SentTransaction.objects.exists():
                assert time.monotonic() < until
                work_once(other)
            return together(*arguments, **more)

        together = Pricing.together
        monkeypatch.setattr(Pricing, "together", slowly)
        try:
            service.work_until_it_says("on their way", *batches)
            assert BlockJob.objects.filter(wait_code="headers_on_their_way").exists()
            assert SentTransaction.objects.count() == 1
            service.node.rpc.ask("evm_mine")
        finally:
            service.node.rpc.ask_many("evm_setAutomine", [(True,)])
        service.work(*batches)
        assert [service.status(batch)["queryStatus"] for batch in batches] == ["DONE", "DONE"]
        stones = SentTransaction.objects.exclude(for_jobs__stone=None)
        assert len(stones) == 1


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


def test_blocks_that_are_too_much_together_go_apart(node: LocalNode) -> None:
    """The rough table may be wrong about what is in a proof; it is tried out before."""
    with running_service(node, new_slot_gas=1) as service:
        service.mine(8)
        slots = {HOLDER: {"slots": [hex(n) for n in range(390)]}}
        batch = service.submit(_blocks(service, 2, {"accounts": slots}))
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"
        assert [row.succeeded for row in SentTransaction.objects.all()] == [True, True]


def test_what_one_of_them_cannot_prove_does_not_hold_up_the_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry refuses one block's proof; the rest is proven in one transaction."""
    data = _blocks(service, 3)
    bad = min(int(name.removeprefix("block:")) for name in data[str(CHAIN_ID)])

    def broken(job: int, anchor: Anchor, *more: Any) -> list[Piece]:
        cut = pieces_of(job, anchor, *more)
        if anchor.header.number != bad:
            return cut
        vars(cut[0])["witness"] = cut[0].witness[:-1] + bytes([cut[0].witness[-1] ^ 1])
        return cut[:1]

    monkeypatch.setattr(prove, "pieces_of", broken)
    batches = [service.submit({str(CHAIN_ID): {name: BALANCE}}, fee=str(ETHER))
               for name in data[str(CHAIN_ID)]]  # fmt: skip
    service.work(*batches[:2])
    assert service.work_until_it_waits(batches[2], "registry_refuses")
    assert SentTransaction.objects.count() == 1


def test_the_amount_that_is_told_is_enough_for_all_blocks(service: Service) -> None:
    data = _blocks(service, 5)
    poor = service.submit(data, fee="1")
    service.work(poor)
    told = service.status(poor)
    assert told["code"] == "fee_too_low"
    needed = re.search(r"a fee of at least (\d+)", told["error"])
    assert needed
    batch = service.submit(data, fee=needed[1])
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert int(service.status(batch)["spent"]) <= int(needed[1])


def test_what_is_on_its_way_is_held_back_from_the_fee(service: Service) -> None:
    """Two blocks, each of which the fee would pay, and not both, which is told when it is known."""
    newest = service.head() - 1
    one = {str(CHAIN_ID): {f"block:{newest}": BALANCE}}
    price = int(service.estimate(one).json()["feeNeeded"])
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    try:
        batch = service.submit(_blocks(service, 2), fee=str(price + price // 2))
        chains = service.chains()
        received = claim_batch()
        assert received
        assert settle(received, chains) is None
        other = claim_job()
        assert other
        _until(chains, SentTransaction.objects.all())
        assert price <= int(Share.objects.get(batch=batch).most, 16) < price + price // 10
        other.look_again(timedelta(0))
        _until(chains, BlockJob.objects.filter(wait_code=WaitCode.FEE_HELD_BACK))
        assert SentTransaction.objects.count() == 1
    finally:
        service.node.rpc.ask("evm_mine")
        service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    service.work(batch)
    assert service.status(batch)["code"] == "fee_too_low"
    row = SentTransaction.objects.get()
    assert row.settled
    assert int(service.status(batch)["spent"]) == _price(row) <= price + price // 2


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


def test_an_op_stack_chains_fee_for_its_data_is_told_and_held_back(service: Service) -> None:
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
