"""A source's node that starts is behind and moves all the same: others are asked in its place."""

import time
from dataclasses import replace
from typing import Any

import pytest

from queries.pipeline import chains as chains_of_a_worker
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


@pytest.mark.parametrize("honest", [1, 2])
def test_who_asks_for_a_new_block_is_not_told_that_there_is_none(
    service: Service, monkeypatch: pytest.MonkeyPatch, honest: int
) -> None:
    monkeypatch.setattr(chains_of_a_worker, "COMPARED_EVERY", 0.5)
    monkeypatch.setattr(chains_of_a_worker, "BEHIND", BEHIND)  # seconds: half of what it is
    service.mine(2 * BEHIND)

    def is_behind(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        for asked in each_of(question):
            if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
                asked["params"][0] = hex(service.head() - BEHIND)
        connection.answer(pass_on())

    def told(prover: Service) -> str:
        answer = prover.ask({str(CHAIN_ID): {f"block:{service.head() - 5}": BALANCE}})
        return str(answer.json().get("code", "taken"))

    with between(service.node.url, is_behind) as (address, _):
        prover = through(service, address, *[service.node.url] * honest)
        chains = replace(prover.chains(), head_is_fresh=0.0)
        work_once(chains)
        assert told(prover) == "block_beyond_head"
        until = time.monotonic() + WITHIN
        while told(prover) != "taken":
            assert time.monotonic() < until
            service.mine(1)
            work_once(chains)
            time.sleep(0.2)
