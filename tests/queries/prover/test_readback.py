"""Facts are read back deep by each node's own head, and do not wait for others of their block."""

import json
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode
from queries.config.routes import NodeAddress
from queries.models import BlockJob, SentTransaction
from tests.queries.prover.between import PassOn, between
from tests.queries.prover.service import Service, running_service
from tests.rigs.local_chain import CHAIN_ID, HOLDER
from tests.rigs.stub_node import LyingNode

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


def test_a_query_whose_state_was_dropped_holds_up_no_fact_that_is_proven(service: Service) -> None:
    block, gone = service.head() - 2, Key.create().address
    service.work(service.ask_balance(HOLDER, block))

    def prune(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        asked = question if isinstance(question, list) else [question]
        answers = json.loads(pass_on())
        for each, answer in zip(asked, answers if asked is question else [answers], strict=True):
            if each["method"] == "eth_getProof" and gone.lower() in str(each["params"]).lower():
                del answer["result"]
                answer["error"] = {"code": -32000, "message": "missing trie node"}
        connection.answer(json.dumps(answers).encode())

    with between(service.node.url, prune) as (address, _):
        chain = replace(service.routes.chains[CHAIN_ID], nodes=(NodeAddress(address),))
        pruned = replace(service, routes=replace(service.routes, chains={CHAIN_ID: chain}))
        waiting = service.ask_balance(gone, block)
        proven = service.ask_balance(HOLDER, block)
        chains = pruned.chains()
        service.work(proven, chains=chains)
        job = BlockJob.objects.get(block=block)
        service.work_until(lambda: bool(BlockJob.objects.get(pk=job.pk).failures), chains=chains)
    assert service.status(proven)["queryStatus"] == "DONE"
    assert service.waits(waiting) == "state_not_available"


def test_a_fact_is_done_when_it_is_deep_enough_for_each_of_two_nodes(node: LocalNode) -> None:
    behind = [3]

    def lag(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        for each in question if isinstance(question, list) else [question]:
            if each["method"] == "eth_getBlockByNumber" and each["params"][0] == "latest":
                each["params"][0] = hex(service.head() - behind[0])
        connection.answer(pass_on())

    with (
        running_service(node, confirmations=3) as service,
        between(service.node.url, lag) as (address, _),
    ):
        service.mine(12)
        nodes = (NodeAddress(service.node.url), NodeAddress(address))
        chain = replace(service.routes.chains[CHAIN_ID], nodes=nodes)
        two = replace(service, routes=replace(service.routes, chains={CHAIN_ID: chain}))
        batch, chains = service.ask_balance(HOLDER, service.head() - 8), two.chains()
        mined = SentTransaction.objects.exclude(mined_block=None)
        service.work_until(mined.exists, chains=chains)
        service.mine(2)
        service.work_until_it_says("do not agree", batch, chains=chains)
        service.mine(3)
        service.work(batch, chains=chains)
    assert service.status(batch)["queryStatus"] == "DONE"
