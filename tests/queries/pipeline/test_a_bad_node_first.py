"""One of three nodes is bad and stands first: it keeps nothing from being proven."""

import itertools
import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.destination import GAS_PRICE_ORACLE, WORD
from queries.chain.local_node import LocalNode
from queries.chain.one_transaction import MOST_GAS
from queries.models import Batch, SentTransaction
from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline import following, last_looks
from queries.pipeline.worker import work_once
from queries.proving.keccak import keccak256
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Between, Handle, PassOn, between, methods, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.standing_still import each_of, standing_at
from tests.queries.pipeline.test_denied_facts import SEVEN, Liar

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
FAR = 1_000  # blocks
GWEI, DEAR = 10**9, 2**100  # wei
THREADS = 6


def swallows(_: Service) -> Handle:
    """What is sent goes no further, and it says that it did."""
    return _answering_sends(
        lambda asked: {"result": f"0x{keccak256(bytes.fromhex(asked['params'][0][2:])).hex()}"}
    )


def refuses(_: Service) -> Handle:
    """As only a chain could: nobody else is asked then."""
    return _refusing_sends(-32000, "intrinsic gas too low")


def reverts(_: Service) -> Handle:
    return _refusing_sends(3, "execution reverted")


def knows_a_higher_nonce(_: Service) -> Handle:
    return _refusing_sends(-32000, "nonce too low")


def _refusing_sends(code: int, message: str) -> Handle:
    return _answering_sends(lambda _: {"error": {"code": code, "message": message}})


def _answering_sends(answer: Callable[[Any], dict[str, Any]]) -> Handle:
    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if methods(question) != ["eth_sendRawTransaction"]:
            connection.answer(pass_on())
            return
        told = {"jsonrpc": "2.0", "id": question["id"], **answer(question)}
        connection.answer(json.dumps(told).encode())

    return handle


def stands_still(service: Service) -> Handle:
    return standing_at(service.head())


def is_far_ahead(service: Service, blocks: int = FAR) -> Handle:
    """It tells of blocks that there are not, and of what the registry holds there."""

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        head = service.head()
        for each in each_of(question):
            at = each["params"][1] if each["method"] == "eth_call" else "latest"
            if at != "latest" and int(at, 16) > head:
                each["params"][1] = "latest"
        told = json.loads(pass_on())
        for asked, answer in zip(each_of(question), each_of(told), strict=True):
            if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
                answer["result"]["number"] = hex(head + blocks)
        connection.answer(json.dumps(told).encode())

    return handle


def is_dear(_: Service, base_fee: int = DEAR) -> Handle:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            answer["result"]["baseFeePerGas"] = hex(base_fee)

    return retold(change)


def is_dear_within_bounds(service: Service) -> Handle:
    return is_dear(service, 200 * GWEI)


def asks_for_much_gas(_: Service) -> Handle:
    return _answering("eth_estimateGas", hex(MOST_GAS))


def asks_for_more_gas_than_there_is(_: Service) -> Handle:
    return _answering("eth_estimateGas", hex(2 * MOST_GAS))


def _answering(method: str, result: str) -> Handle:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == method:
            answer.pop("error", None)
            answer["result"] = result

    return retold(change)


def has_an_oracle(_: Service) -> Handle:
    """Of fees for an L1, that asks for all that there is."""

    def change(asked: Any, answer: Any) -> None:
        if GAS_PRICE_ORACLE in str(asked["params"]):
            answer["result"] = "0x" + WORD * "ff"

    return retold(change)


def has_it_already(_: Service) -> Handle:
    """What is to be proven, with another value."""
    return retold(Liar(SEVEN))


@pytest.mark.parametrize("bad", [refuses, reverts, knows_a_higher_nonce])
def test_what_one_of_two_says_to_what_is_sent_again_is_nobodys_end(
    service: Service, monkeypatch: pytest.MonkeyPatch, bad: Callable[[Service], Handle]
) -> None:
    """The honest one gets it again as well."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    with (
        between(service.node.url, bad(service)) as (address, worse),
        between(service.node.url) as (honest, better),
    ):
        prover = through(service, honest, address)
        batch = prover.ask_balance(HOLDER, service.head() - 2)

        def sent(node: Between, times: int) -> bool:
            return node.asked.count("eth_sendRawTransaction") >= times

        prover.work_until(lambda: sent(worse, 4) and sent(better, 4))
    service.mine(1)
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == 1


@pytest.mark.parametrize("bad", [refuses, reverts, asks_for_more_gas_than_there_is, has_an_oracle])
def test_many_threads_believe_it_no_more_than_one(
    service: Service, bad: Callable[[Service], Handle]
) -> None:
    """Each of which has it first."""
    with between(service.node.url, bad(service)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        threads = itertools.cycle([prover.chains() for _ in range(THREADS)])
        until = time.monotonic() + 20
        while Batch.objects.filter(pk=batch, ended=None) and time.monotonic() < until:
            prover.look_now()
            work_once(next(threads))
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("bad", [is_dear_within_bounds, asks_for_much_gas, has_an_oracle])
def test_nobody_is_told_to_offer_more_for_its_word(
    node: LocalNode, bad: Callable[[Service], Handle]
) -> None:
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        balance = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": balance}}
        fee = service.estimate(data).json()["feeNeeded"]
        with between(node.url, bad(service)) as (address, _):
            prover = through(service, address, node.url, node.url)
            batch = prover.submit(data, fee=fee)
            prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def refuses_to_estimate(_: Service) -> Handle:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            answer["error"] = {"code": 3, "message": "execution reverted", "data": "0x"}

    return retold(change)


@pytest.mark.parametrize("honest", [1, 2])
def test_one_that_refuses_all_keeps_nobody_from_being_told_that_he_offers_too_little(
    node: LocalNode, honest: int
) -> None:
    """And whoever offers enough is proven."""
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        balance = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        head = service.head()
        blocks = [{str(CHAIN_ID): {f"block:{head - back}": balance}} for back in (2, 3, 4)]
        enough = 2 * int(service.estimate(blocks[0]).json()["feeNeeded"])
        with between(node.url, refuses_to_estimate(service)) as (address, _):
            prover = through(service, address, *[node.url] * honest)
            poor, *rich = (
                prover.submit(block, fee=str(fee))
                for block, fee in zip(blocks, (enough // 8, enough, enough), strict=True)
            )
            prover.work(poor, *rich)
        assert Batch.objects.get(pk=poor).error_code == "fee_too_low"
        assert {service.status(each)["queryStatus"] for each in rich} == {"DONE"}


@pytest.mark.parametrize("named", ["block", "timestamp"])
def test_a_source_that_stands_still_is_not_waited_for(
    service: Service, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setattr(chains_of_a_worker, "STANDS_STILL_AFTER", 0.5)
    with between(service.node.url, standing_at(service.head())) as (address, _):
        service.mine(5)
        prover = through(service, address, service.node.url, service.node.url)
        head = service.chains().head(CHAIN_ID)  # what submitting compares with
        at = head.number - 1 if named == "block" else head.timestamp - 1
        balance = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        batch = prover.submit({str(CHAIN_ID): {f"{named}:{at}": balance}})
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize(
    "bad",
    [
        swallows,
        refuses,
        reverts,
        knows_a_higher_nonce,
        stands_still,
        is_far_ahead,
        is_dear,
        has_it_already,
    ],
)
def test_it_is_passed_over(
    service: Service, monkeypatch: pytest.MonkeyPatch, bad: Callable[[Service], Handle]
) -> None:
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.3))
    with between(service.node.url, bad(service)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    # The header goes alone where the rest is said to be there; nothing goes twice.
    assert SentTransaction.objects.count() == (2 if bad is has_it_already else 1)
