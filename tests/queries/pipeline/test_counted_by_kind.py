"""Looks that would reject count by their kind: whatever else failed before is none of them."""

import json
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.chain.registry_reads import call_data
from queries.models import Batch, BlockJob
from queries.pipeline import work
from queries.pipeline.worker import work_once
from queries.proving.headers import header_from_json
from queries.proving.registry_calls import leaf_of
from queries.wait_reasons import WaitCode
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between, called, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.standing_still import each_of
from tests.queries.pipeline.test_denied_facts import SEVEN, Liar
from tests.queries.pipeline.test_heard_from_all import (
    AWAY,
    BALANCE,
    OUT_OF_REACH,
    is_beyond_reach,
    made_up_header,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
MOST_LOOKS = 60


def _work(prover: Service, batch: str) -> None:
    """Until it has ended, without its pauses."""
    chains, looks = prover.chains(), 0
    while Batch.objects.filter(pk=batch, ended=None).exists():
        assert looks < MOST_LOOKS, list(BlockJob.objects.values("wait_code", "failures"))
        prover.look_now()
        looks += work_once(chains)


def test_a_price_that_was_asked_again_is_no_look_at_what_is_out_of_reach(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage two batches share a block, and one of them offers too little."""
    impatient(monkeypatch, patience=0)
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        enough = 2 * int(service.estimate(data).json()["feeNeeded"])
        poor, rich = (service.submit(data, fee=str(fee)) for fee in (enough // 8, enough))
        service.work_until(BlockJob.objects.exists)
        through(service, AWAY, AWAY, AWAY).work_until(BlockJob.objects.filter(failures=3).exists)
        lie = is_beyond_reach(service)

        def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
            if Batch.objects.filter(pk=poor).exclude(ended=None).exists():
                lie(connection, question, pass_on)
            else:
                connection.answer(pass_on())

        with between(node.url, handle) as (address, _):
            _work(through(service, address, node.url, node.url), rich)
        assert service.status(poor)["code"] == "fee_too_low"
        assert service.status(rich)["queryStatus"] == "DONE"


def test_after_an_outage_each_node_is_heard_before_a_lie_counts(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "LONGEST_WAIT", timedelta(seconds=0.1))
    impatient(monkeypatch, patience=0)
    block = service.head() - 2
    leaf = leaf_of(header_from_json(service.header(block)))
    batch = service.ask_balance(HOLDER, block)
    service.work_until(BlockJob.objects.exists)
    through(service, AWAY, AWAY, AWAY).work_until(BlockJob.objects.filter(failures=8).exists)
    holds_seven = Liar(SEVEN)
    asked_leaf = f"0x{call_data('accumulated(uint256)', block).hex()}"

    def change(asked: Any, answer: Any) -> None:
        holds_seven(asked, answer)
        if called(asked) == asked_leaf:
            answer["result"] = f"0x{leaf.hex()}"

    with between(service.node.url, retold(change)) as (address, _):
        _work(through(service, address, service.node.url, service.node.url), batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_times_that_one_makes_up_end_no_batch_that_names_a_time(service: Service) -> None:
    """Of two neighbours that are asked for together, so that settling sees nothing of it."""

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        told = json.loads(pass_on())
        asked, answers = each_of(question), each_of(told)
        numbered = [
            each["method"] == "eth_getBlockByNumber" and each["params"][0].startswith("0x")
            for each in asked
        ]
        if numbered == [True, True] and asked[0]["params"][0] != "0x0":
            end = int(answers[0]["result"]["timestamp"], 16)
            first = made_up_header(answers[0]["result"], timestamp=(end + 1).to_bytes(4))
            parent = bytes.fromhex(first["hash"][2:])
            answers[0]["result"], answers[1]["result"] = (
                first,
                made_up_header(
                    answers[1]["result"], timestamp=(end + 2).to_bytes(4), parentHash=parent
                ),
            )
        connection.answer(json.dumps(told).encode())

    seconds = int(service.header(service.head() - 3)["timestamp"], 16)
    with between(service.node.url, handle) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.submit({str(CHAIN_ID): {f"timestamp:{seconds}": BALANCE}})
        _work(prover, batch)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_that_lies_for_ever_keeps_no_good_batch_beside_a_poor_one(
    node: LocalNode, place: int
) -> None:
    """It refuses to estimate, and tells of a head that is far ahead."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            answer["result"]["number"] = hex(int(answer["result"]["number"], 16) + OUT_OF_REACH)
        if asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            answer["error"] = {"code": 3, "message": "execution reverted", "data": "0x"}

    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        enough = 2 * int(service.estimate(data).json()["feeNeeded"])
        with between(node.url, retold(change)) as (address, _):
            nodes = [node.url, node.url]
            nodes.insert(place, address)
            prover = through(service, *nodes)
            poor = prover.submit(data, fee=str(enough // 8))
            rich = prover.submit(data, fee=str(enough))
            _work(prover, rich)
        assert service.status(poor)["code"] == "fee_too_low"
        assert service.status(rich)["queryStatus"] == "DONE"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_that_says_now_this_and_now_that_is_not_asked_first_for_ever(
    service: Service, place: int
) -> None:
    """Each kind begins to be counted anew, and so would its turn."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            said_before = BlockJob.objects.get().wait_code == WaitCode.REGISTRY_REFUSES
            answer["error"] = (
                {"code": -32000, "message": "exceeds block gas limit"}
                if said_before
                else {"code": 3, "message": "execution reverted", "data": "0x"}
            )

    with between(service.node.url, retold(change)) as (address, _):
        nodes = [service.node.url, service.node.url]
        nodes.insert(place, address)
        prover = through(service, *nodes)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work_until(BlockJob.objects.exists)
        BlockJob.objects.update(failures=1)  # of whatever kind
        _work(prover, batch)
    assert service.status(batch)["queryStatus"] == "DONE"
