"""Nodes that do not stop lying: after many tries who asked is told so, and may ask again later."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from queries.models import Batch, BlockJob, Query, SentTransaction
from queries.pipeline import following
from queries.pipeline.chains import NEWEST_IS_FRESH
from queries.pipeline.clock import shared_now
from queries.pipeline.work import TRIES_OF_LIES
from queries.pipeline.worker import work_once
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import between, methods, passed_on
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import ETHER, HOLDER, Service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
PassOn = Callable[[], bytes]


@pytest.fixture
def service(service: Service) -> Service:
    for ether in (5, 6):
        service.node.rpc.ask("anvil_setBalance", HOLDER, hex(ether * ETHER))
        service.mine(2)
    return service


def _with_todays_state(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
    """As a node answers that keeps no older one, and does not say so."""
    for each in question if isinstance(question, list) else [question]:
        if each["method"] == "eth_getProof":
            each["params"][2] = "latest"
    connection.answer(pass_on())


class Saying:
    """These results to one method, one after the other and the last for good."""

    def __init__(self, method: str, *results: Any) -> None:
        self.method = method
        self.results = list(results)

    def __call__(self, connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if self.method not in methods(question):
            connection.answer(pass_on())
            return
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        asked = question if isinstance(question, list) else [question]
        told = [{"jsonrpc": "2.0", "id": each["id"], "result": result} for each in asked]
        connection.answer(json.dumps(told if isinstance(question, list) else told[0]).encode())


def _tries(service: Service, batch: str, most: int = 40) -> int:
    """How often the work was tried until the batch ended, without the pauses."""
    chains = service.chains()
    for tries in range(most):
        if Batch.objects.filter(pk=batch).exclude(ended=None).exists():
            return tries
        _everything_is_due()
        work_once(chains)
    return most


def _everything_is_due() -> None:
    for rows in (Batch.objects, BlockJob.objects):
        rows.exclude(look_again=None).update(look_again=shared_now())


def test_a_node_that_proves_todays_state_of_an_old_block_is_told_as_that(service: Service) -> None:
    block = service.head() - 3
    batch = service.ask_balance(HOLDER, block)
    with (
        between(service.node.url, _with_todays_state) as (first, _),
        between(service.node.url, _with_todays_state) as (second, _),
    ):
        prover = through(service, first, second)
        assert TRIES_OF_LIES < _tries(prover, batch) < TRIES_OF_LIES + 5
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "state_of_another_block")
    assert told["error"] == (
        "The nodes of Local answer eth_getProof with the state of another block than was asked."
    )
    assert (told["retryable"], told["step"]) == (True, "HEADER_ACCUMULATED")
    assert not BlockJob.objects.exclude(look_again=None).exists()
    assert service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is None
    again = service.ask_balance(HOLDER, block)
    service.work(again)
    word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
    assert word == (5 * ETHER).to_bytes(32, "big")


def test_a_node_that_has_the_state_is_enough(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 3)
    with between(service.node.url, _with_todays_state) as (pruned, _):
        through(service, pruned, service.node.url).work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize(
    ("method", "step"),
    [("eth_getProof", "HEADER_ACCUMULATED"), ("eth_getBlockByNumber", "INITIAL_STATE")],
)
def test_lies_of_many_kinds_are_counted_together(service: Service, method: str, step: str) -> None:
    lies = Saying(method, *[{}, 7, [], "0x", {"accountProof": []}] * 9)
    batch = service.ask_balance(HOLDER, service.head() - 3)
    with between(service.node.url, lies) as (address, _):
        assert TRIES_OF_LIES < _tries(through(service, address), batch) < TRIES_OF_LIES + 5
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "nodes_lie")
    assert (told["retryable"], told["step"]) == (True, step)


def test_nodes_that_are_away_are_waited_for_and_one_lie_after_it_is_not_the_last(
    service: Service,
) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 3)
    with between(service.node.url, _refused) as (address, proxy):
        prover = through(service, address)
        assert _tries(prover, batch) == 40
        proxy.handle = _with_todays_state
        assert _tries(prover, batch, most=2) == 2
        proxy.handle = passed_on
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def _refused(connection: LyingNode, question: Any, _pass_on: PassOn) -> None:
    """Words that mean nothing to us, which are told at once."""
    asked = question if isinstance(question, list) else [question]
    error = {"code": -32001, "message": "unknown block"}
    told = [{"jsonrpc": "2.0", "id": each["id"], "error": error} for each in asked]
    connection.answer(json.dumps(told if isinstance(question, list) else told[0]).encode())


def test_a_transaction_is_followed_although_its_batch_is_rejected(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or its nonce would be left out, and hold up all that come after it."""
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = service.ask_balance(HOLDER, service.head() - 3)
    service.work_until_it_says("on its way", batch)
    with between(service.node.url, Saying("eth_call", "0xzz")) as (address, _):
        _tries(through(service, address), batch)
    assert service.status(batch)["code"] == "nodes_lie"
    (sent,) = SentTransaction.objects.get().hashes
    service.node.rpc.ask("anvil_dropTransaction", sent)
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(0))
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    chains = service.chains()
    for _ in range(3):
        time.sleep(NEWEST_IS_FRESH)  # or the head is that of the look before
        _everything_is_due()
        work_once(chains)
    row = SentTransaction.objects.get()
    assert (row.settled, row.mined_hash) == (True, sent)
    assert not BlockJob.objects.exclude(look_again=None).exists()


def test_a_transaction_that_nodes_refused_is_sent_when_they_take_it(service: Service) -> None:
    """Also after its batch was rejected for that: those behind it wait for its nonce."""

    def refuse(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if "eth_sendRawTransaction" not in methods(question):
            connection.answer(pass_on())
            return
        error = {"code": -32000, "message": "exceeds block gas limit"}
        connection.answer(json.dumps({"id": question["id"], "error": error}).encode())

    batch = service.ask_balance(HOLDER, service.head() - 3)
    with between(service.node.url, refuse) as (address, _):
        _tries(through(service, address), batch)
    assert service.status(batch)["code"] == "too_much_gas"
    assert SentTransaction.objects.get().sent is None
    other = service.ask_balance(HOLDER, service.head() - 1)
    service.work(other, seconds=60)
    assert service.status(other)["queryStatus"] == "DONE"
    sent = SentTransaction.objects.all()
    assert sent.count() == 2
    service.work_until(lambda: not sent.filter(settled=False).exists(), seconds=60)


def test_a_transaction_that_nodes_never_take_leaves_its_nonce_to_those_behind_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it costs more in all than nodes let pass, which no time makes better."""

    monkeypatch.setattr(following, "GIVEN_UP_AFTER", timedelta(seconds=2))
    with between(service.node.url, _refusing_the_first()) as (address, _):
        prover = through(service, address)
        block = service.head() - 3
        batch = service.ask_balance(HOLDER, block)
        _tries(prover, batch)
        assert service.status(batch)["code"] == "transaction_refused"
        other = service.ask_balance(HOLDER, block + 2)
        prover.work(other, seconds=30)
        again = service.ask_balance(HOLDER, block)
        prover.work(again, seconds=30)
    told = [service.status(each)["queryStatus"] for each in (other, again)]
    assert told == ["DONE", "DONE"]
    first = SentTransaction.objects.earliest("nonce")
    assert (first.settled, first.gas_used) == (True, 21_000)
    assert not Query.objects.filter(header_transaction=first).exists()


def test_who_asks_for_a_block_whose_transaction_was_refused_is_not_told_of_another_ones_failure(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as its nonce is held: then it is tried afresh."""
    with between(service.node.url, _refusing_the_first()) as (address, _):
        prover = through(service, address)
        block = service.head() - 3
        batch = service.ask_balance(HOLDER, block)
        _tries(prover, batch)
        assert service.status(batch)["code"] == "transaction_refused"
        again = service.ask_balance(HOLDER, block)
        assert _tries(prover, again, most=12) == 12
        assert service.waits(again) == "earlier_transaction_refused"
        monkeypatch.setattr(following, "GIVEN_UP_AFTER", timedelta(0))
        assert _tries(prover, again) < 40
    assert service.status(again)["queryStatus"] == "DONE"
    assert [row.gas_used == 21_000 for row in SentTransaction.objects.order_by("nonce")] == [
        True,
        False,
    ]


def _refusing_the_first() -> Callable[[LyingNode, Any, PassOn], None]:
    """The first proof that is sent is not taken, however often; the next one is."""
    refused: dict[str, str] = {}

    def refuse(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if "eth_sendRawTransaction" not in methods(question):
            connection.answer(pass_on())
            return
        (raw,) = question["params"]
        if len(raw) < 1_000 or raw != refused.setdefault("raw", raw):
            connection.answer(pass_on())
            return
        message = "tx fee (1.50 ether) exceeds the configured cap (1.00 ether)"
        error = {"code": -32000, "message": message}
        connection.answer(json.dumps({"id": question["id"], "error": error}).encode())

    return refuse
