"""A prover that is killed at any moment: what it held is taken over, and nothing is done twice.

The moments are between its questions to the node and their answers, because these are all that
others can see of it beside the database: each is tried before the node has the question and
after it has answered, with a second prover at hand.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.models import Batch
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import between, methods
from tests.queries.pipeline.proven_once import assert_nothing_is_twice
from tests.queries.pipeline.provers import prover, routes_file
from tests.queries.pipeline.service import Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"

METHODS = [
    "eth_chainId",
    "eth_getBlockByNumber",
    "eth_call",
    "eth_getProof",
    "eth_estimateGas",
    "eth_maxPriorityFeePerGas",
    "eth_getTransactionCount",
    "eth_sendRawTransaction",
    "eth_getTransactionReceipt",
]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node) as running:
        yield running


class Killing:
    """Kills a process, once, at a question of this kind."""

    def __init__(self, method: str, *, answered: bool) -> None:
        self.method = method
        self.answered = answered
        self.pid = 0
        self.done = False

    def __call__(self, connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
        if self.done or not self.pid or self.method not in methods(question):
            connection.answer(pass_on())
            return
        self.done = True
        content = pass_on() if self.answered else b""
        os.kill(self.pid, signal.SIGKILL)
        connection.answer(content)


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", METHODS)
def test_a_killed_prover_loses_nothing_and_pays_nothing_twice(
    service: Service, tmp_path: Path, method: str, *, answered: bool
) -> None:
    service.mine(3)
    block = service.head() - 1
    kill = Killing(method, answered=answered)
    with between(service.node.url, kill) as (address, _):
        routes = routes_file(tmp_path, service.routes, address)
        with prover(tmp_path, routes) as first:
            kill.pid = first.pid
            batches = [service.ask_balance(HOLDER, block - number) for number in range(2)]
            _wait(lambda: first.poll() is not None)
            assert first.returncode == -signal.SIGKILL
            with prover(tmp_path, routes):
                _wait(lambda: not Batch.objects.filter(pk__in=batches, ended=None).exists())
    assert kill.done
    assert [service.status(batch)["queryStatus"] for batch in batches] == ["DONE", "DONE"]
    assert_nothing_is_twice(service)


def _wait(ready: Callable[[], bool], seconds: float = 40) -> None:
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, list(Batch.objects.values("pk", "status", "waits_for"))
        time.sleep(0.05)
