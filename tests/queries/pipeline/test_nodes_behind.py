"""One address with several nodes behind it, of which some are a block behind the others."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import between, methods
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import HOLDER, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


class OneBehind:
    """After a transaction was sent, some calls are answered by a node that lacks its block."""

    def __init__(self, node: LocalNode, calls: int, *, tells: bool) -> None:
        self.node = node
        self.left = calls
        self.tells = tells  # whether the same node answers how far it is
        self.sent = False

    def __call__(self, connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
        asked = methods(question)
        self.sent = self.sent or "eth_sendRawTransaction" in asked
        newest = int(self.node.rpc.ask("eth_blockNumber"), 16) - 1
        if self.sent and self.left and "eth_call" in asked:
            self.left -= 1
            content = self._behind(question, newest, pass_on)
        elif self.sent and self.left and self.tells and "eth_blockNumber" in asked:
            self.left -= 1
            content = json.dumps({"id": question["id"], "result": hex(newest)}).encode()
        else:
            content = pass_on()
        connection.answer(content)

    def _behind(self, question: Any, newest: int, pass_on: Callable[[], bytes]) -> bytes:
        several = question if isinstance(question, list) else [question]
        if any(each["params"][1] != "latest" for each in several):
            error = {"code": -32000, "message": "header not found"}
            told = [{"id": each["id"], "error": error} for each in several]
            return json.dumps(told if isinstance(question, list) else told[0]).encode()
        for each in several:
            each["params"][1] = hex(newest)
        return pass_on()


@pytest.mark.parametrize("tells", [False, True])
@pytest.mark.parametrize("calls", [1, 4])
def test_what_was_mined_is_not_paid_for_again(node: LocalNode, calls: int, *, tells: bool) -> None:
    behind = OneBehind(node, calls, tells=tells)
    with between(node.url, behind) as (address, _), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        prover.work(batch)
        assert behind.left < calls
        assert service.status(batch)["queryStatus"] == "DONE"
        assert SentTransaction.objects.count() == 1


def test_another_prover_does_not_pay_for_it_either(node: LocalNode) -> None:
    """It did not see the transaction mined: the database tells it."""
    behind = OneBehind(node, 99, tells=False)
    with between(node.url, behind) as (address, _), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        first = through(service, address)
        for _ in range(2):
            first.work_until_it_says("know no such block", batch)
            assert service.waits(batch) == "block_unknown"
        behind.left = 0
        service.work(batch)
        assert SentTransaction.objects.count() == 1
