"""Facts are read back at the confirmation depth by each node's own head."""

from typing import Any

import pytest
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode
from queries.models import BlockJob, SentTransaction
from tests.queries.prover.node_proxy import PassOn, calls_of, change_answers, proxy
from tests.queries.prover.service import Service, running_service
from tests.rigs.deployed_contracts import HOLDER
from tests.rigs.stub_node import StubNode

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


def test_a_query_whose_state_was_dropped_delays_no_proven_fact(service: Service) -> None:
    block, dropped = service.head() - 2, Key.create().address
    service.work(service.ask_balance(HOLDER, block))

    def drop_state(call: Any, answer: Any) -> None:
        if call["method"] == "eth_getProof" and dropped.lower() in str(call["params"]).lower():
            del answer["result"]
            answer["error"] = {"code": -32000, "message": "missing trie node"}

    with proxy(service.node.url, change_answers(drop_state)) as address:
        waiting = service.ask_balance(dropped, block)
        proven = service.ask_balance(HOLDER, block)
        context = service.with_nodes(address).context()
        service.work(proven, context=context)
        jobs = BlockJob.objects.filter(block=block, failures__gt=0)
        service.work_until(jobs.exists, context=context)
    assert service.status(proven)["queryStatus"] == "DONE"
    assert service.wait_code(waiting) == "state_not_available"


def test_a_fact_is_done_when_it_is_deep_enough_for_each_of_two_nodes(node: LocalNode) -> None:
    lag = 3

    def serve_older_head(connection: StubNode, body: Any, pass_on: PassOn) -> None:
        for call in calls_of(body):
            if call["method"] == "eth_getBlockByNumber" and call["params"][0] == "latest":
                call["params"][0] = hex(service.head() - lag)
        connection.answer(pass_on())

    with (
        running_service(node, confirmations=3) as service,
        proxy(service.node.url, serve_older_head) as address,
    ):
        service.mine(12)
        context = service.with_nodes(service.node.url, address).context()
        batch = service.ask_balance(HOLDER, service.head() - 8)
        mined = SentTransaction.objects.exclude(mined_block=None)
        service.work_until(mined.exists, context=context)
        service.mine(2)
        service.work_until_sentence("do not agree", batch, context=context)
        service.mine(3)
        service.work(batch, context=context)
    assert service.status(batch)["queryStatus"] == "DONE"
