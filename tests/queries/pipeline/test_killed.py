"""One of two provers is killed at any moment: the other takes over, and nothing is done twice.

The moments are between its questions to the node and their answers, because these are all that
others can see of it beside the database: each is tried before the node has the question and
after it has answered. Both work at the same time, and whoever is first at the place dies there.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.models import Batch
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Between, Handle, between, methods
from tests.queries.pipeline.proven_once import assert_nothing_is_twice
from tests.queries.pipeline.provers import prover, routes_file
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)

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
    """Kills whoever is first at a question of this kind, once."""

    def __init__(self, method: str, *, answered: bool) -> None:
        self.method = method
        self.answered = answered
        self.killed: Popen[bytes] | None = None
        self._lock = threading.Lock()

    def at(self, prover: Popen[bytes]) -> Handle:
        """What comes of this prover's questions."""

        def handle(connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
            if not self._is_the_place(prover, question):
                connection.answer(pass_on())
                return
            content = pass_on() if self.answered else b""
            prover.kill()
            connection.answer(content)

        return handle

    def _is_the_place(self, prover: Popen[bytes], question: Any) -> bool:
        with self._lock:
            if self.killed or self.method not in methods(question):
                return False
            self.killed = prover
            return True


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", METHODS)
def test_a_killed_prover_loses_nothing_and_pays_nothing_twice(
    service: Service, tmp_path: Path, method: str, *, answered: bool
) -> None:
    kill = Killing(method, answered=answered)
    service.mine(4)
    service.chains().head(CHAIN_ID)  # seen, or these blocks would be ones that nobody knows of
    with _two_provers(service, tmp_path) as provers:
        for proxy, each in provers:
            proxy.handle = kill.at(each)
        batches = [service.ask_balance(HOLDER, service.head() - back) for back in (1, 2, 3)]
        _wait(lambda: kill.killed is not None and kill.killed.poll() is not None)
        _wait(lambda: not Batch.objects.filter(pk__in=batches, ended=None).exists())
        assert sorted(str(each.poll()) for _, each in provers) == [str(-signal.SIGKILL), "None"]
    assert {service.status(batch)["queryStatus"] for batch in batches} == {"DONE"}
    assert_nothing_is_twice(service)


@contextmanager
def _two_provers(service: Service, folder: Path) -> Iterator[list[tuple[Between, Popen[bytes]]]]:
    """Which both work already, each with what stands between it and the node."""
    folders = [folder / "first", folder / "second"]
    with ExitStack() as stack:
        provers = []
        for own in folders:
            own.mkdir()
            address, proxy = stack.enter_context(between(service.node.url))
            routes = routes_file(own, service.routes, address)
            provers.append((proxy, stack.enter_context(prover(own, routes))))
        _wait(lambda: all("Proving on" in (own / "log").read_text() for own in folders))
        yield provers


def _wait(ready: Callable[[], bool], seconds: float = 40) -> None:
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, list(Batch.objects.values("pk", "status", "waits_for"))
        time.sleep(0.05)
