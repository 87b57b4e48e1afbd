"""How much gas a transaction takes is a node's word: what one of several makes up ends nobody."""

from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from queries.pipeline import following, last_looks
from tests.queries.pipeline.between import between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.test_heard_from_all import AWAY, BALANCE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


def too_little(asked: Any, answer: Any) -> None:
    """More than the calldata's floor, which is ours to know."""
    if asked["method"] == "eth_estimateGas" and "result" in answer:
        answer["result"] = hex(int(answer["result"], 16) * 7 // 10)


def test_a_transaction_with_too_little_gas_fails_once(service: Service) -> None:
    """What the calldata's floor takes is ours to know; of more a node is asked."""

    with between(service.node.url, retold(too_little)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    sent = SentTransaction.objects.order_by("nonce").values_list("succeeded", flat=True)
    assert list(sent) == [False, True]


@pytest.mark.parametrize("honest", [1, 2])
def test_one_that_names_too_little_gas_and_then_too_much_has_nobody_rejected(
    node: LocalNode, honest: int
) -> None:
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        needed = 3 * int(service.estimate(data).json()["feeNeeded"])

        def change(asked: Any, answer: Any) -> None:
            if asked["method"] == "eth_estimateGas" and "result" in answer:
                if SentTransaction.objects.filter(succeeded=False).exists():
                    answer["result"] = hex(int(answer["result"], 16) * 30)
                else:
                    too_little(asked, answer)

        with between(node.url, retold(change)) as (address, _):
            prover = through(service, address, *[node.url] * honest)
            batch = prover.submit(data, fee=str(needed))
            prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_one_that_is_no_more_to_be_asked_leaves_it_to_the_others(service: Service) -> None:
    """After a transaction failed for its word each is asked, and it answers what is none."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas" and "result" in answer:
            if SentTransaction.objects.filter(succeeded=False).exists():
                answer.pop("result")
                answer["error"] = {"code": -32000, "message": "insufficient funds for transfer"}
            else:
                too_little(asked, answer)

    with between(service.node.url, retold(change)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_who_answers_for_one_that_is_away_is_heard_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three: what it names too little is no word of two."""
    impatient(monkeypatch, patience=0)

    with between(service.node.url, retold(too_little)) as (address, _):
        prover = through(service, address, AWAY, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.filter(succeeded=False).count() == 1


def test_nothing_that_is_empty_has_all_the_gas_that_one_names(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It closes a gap, for which all after it wait, and no pool would take it."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.3))
    monkeypatch.setattr(following, "LEFT_BEHIND_AFTER", timedelta(seconds=0.5))
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionCount":
            answer["result"] = hex(int(answer["result"], 16) + 2)
        if asked["method"] == "eth_estimateGas" and asked["params"][0]["data"] == "0x":
            answer["result"] = hex(2**40)

    with between(service.node.url, retold(change)) as (address, _):
        prover = through(service, address, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
