"""A node that starts is behind and moves all the same, or it lies: another one is asked first."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline import each_head
from queries.pipeline.worker import work_once
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, Service
from tests.queries.pipeline.standing_still import each_of
from tests.queries.pipeline.test_heard_from_all import BALANCE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
BEHIND = 20  # blocks
WITHIN = 20  # seconds


HONEST, AWAY = "", "http://127.0.0.1:9"


@pytest.mark.parametrize("others", [[HONEST], [HONEST] * 2, [HONEST, AWAY], [AWAY, HONEST]])
@pytest.mark.parametrize("in_time", [True, False], ids=["in time", "in blocks alone"])
def test_who_asks_for_a_new_block_is_not_told_that_there_is_none(
    service: Service, monkeypatch: pytest.MonkeyPatch, others: list[str], *, in_time: bool
) -> None:
    """Nor where the node says that its old block is of now."""
    monkeypatch.setattr(chains_of_a_worker, "COMPARED_EVERY", 0.5)
    monkeypatch.setattr(each_head, "SECONDS_BEHIND", BEHIND // 2)
    monkeypatch.setattr(each_head, "BLOCKS_BEHIND", BEHIND // 2)
    service.mine(2 * BEHIND)

    def is_behind(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        heads = [each for each in each_of(question) if each["params"][:1] == ["latest"]]
        newest = service.node.rpc.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003
        for asked in heads:
            if asked["method"] == "eth_getBlockByNumber":
                asked["params"][0] = hex(int(newest["number"], 16) - BEHIND)
        told = json.loads(pass_on())
        for answer in each_of(told) if heads and not in_time else ():
            if isinstance(answer["result"], dict):
                answer["result"]["timestamp"] = newest["timestamp"]
        connection.answer(json.dumps(told).encode())

    def told(prover: Service) -> str:
        answer = prover.ask({str(CHAIN_ID): {f"block:{service.head() - 5}": BALANCE}})
        return str(answer.json().get("code", "taken"))

    with between(service.node.url, is_behind) as (address, _):
        prover = through(service, address, *[each or service.node.url for each in others])
        chains = replace(prover.chains(), head_is_fresh=0.0)
        work_once(chains)
        assert told(prover) == "block_beyond_head"
        until = time.monotonic() + WITHIN
        while told(prover) != "taken":
            assert time.monotonic() < until
            service.mine(1)
            work_once(chains)
            time.sleep(0.2)
