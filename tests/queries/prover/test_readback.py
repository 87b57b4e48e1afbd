"""Facts are read back at the confirmation depth by each node's own head."""

from typing import Any

import pytest
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode
from queries.models import BlockJob, SentTransaction
from tests.queries.prover.service import Service, running_service
from tests.rigs.deployed_contracts import HOLDER
from tests.rigs.faulty_node import refusal, relay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


def test_a_query_whose_state_was_dropped_delays_no_proven_fact(service: Service) -> None:
    block, dropped = service.head() - 2, Key.create().address
    service.work(service.ask_balance(HOLDER, block))

    def drop_state(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        is_dropped = method == "eth_getProof" and params[0].lower() == dropped.lower()
        return refusal("missing trie node") if is_dropped else answer

    with relay(service.node.url, drop_state) as address:
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

    def serve_older_head(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_getBlockByNumber" and params[0] == "latest":
            return {"result": node.block(hex(service.head() - lag))}
        return answer

    with (
        running_service(node, confirmations=3) as service,
        relay(service.node.url, serve_older_head) as address,
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
