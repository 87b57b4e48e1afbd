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
from django.db import connection

from queries.chain.local_node import LocalNode
from queries.chain.registry_reads import selector
from queries.models import Batch, ChainCost, RouteRecord, SentTransaction
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Between, Handle, between, methods
from tests.queries.pipeline.proven_once import assert_nothing_is_twice
from tests.queries.pipeline.provers import prover, routes_file
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)

CONFIRMATIONS = 20
ACCUMULATED = f"0x{selector('accumulated(uint256)').hex()}"
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


Place = Callable[[Any], bool]  # whether this question is it


class Killing:
    """Kills whoever is first at this place, once."""

    def __init__(self, place: Place, *, answered: bool) -> None:
        self.place = place
        self.answered = answered
        self.killed: Popen[bytes] | None = None
        self.states: list[str] = []  # of the batches at that moment
        self._lock = threading.Lock()

    def at(self, prover: Popen[bytes]) -> Handle:
        """What comes of this prover's questions."""

        def handle(connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
            if not self._is_the_place(prover, question):
                connection.answer(pass_on())
                return
            content = pass_on() if self.answered else b""
            self.states = _states()
            prover.kill()
            connection.answer(content)

        return handle

    def _is_the_place(self, prover: Popen[bytes], question: Any) -> bool:
        with self._lock:
            if self.killed or not self.place(question):
                return False
            self.killed = prover
            return True


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", METHODS)
def test_a_killed_prover_loses_nothing_and_pays_nothing_twice(
    service: Service, tmp_path: Path, method: str, *, answered: bool
) -> None:
    kill = Killing(lambda question: method in methods(question), answered=answered)
    service.mine(4)
    service.chains().head(CHAIN_ID)  # seen, or these blocks would be ones that nobody knows of
    with _two_provers(service, tmp_path, kill):
        batches = [service.ask_balance(HOLDER, service.head() - back) for back in (1, 2, 3)]
        _wait(lambda: kill.killed is not None and kill.killed.poll() is not None)
        _wait(lambda: not Batch.objects.filter(pk__in=batches, ended=None).exists())
    assert {service.status(batch)["queryStatus"] for batch in batches} == {"DONE"}
    assert_nothing_is_twice(service)


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_one_that_is_killed_at_the_last_look_leaves_it_to_the_other(
    node: LocalNode, tmp_path: Path, *, answered: bool
) -> None:
    """All is mined and confirmed, the facts are read back, and what is left is to say DONE."""
    with running_service(node, confirmations=CONFIRMATIONS) as service:
        kill = Killing(lambda question: _is_the_last_look(service, question), answered=answered)
        service.mine(2)
        service.chains().head(CHAIN_ID)
        with _two_provers(service, tmp_path, kill):
            batch = service.ask_balance(HOLDER, service.head() - 1)
            _wait(lambda: SentTransaction.objects.exclude(mined_block=None).exists())
            service.mine(CONFIRMATIONS)
            _wait(lambda: kill.killed is not None and kill.killed.poll() is not None)
            _wait(lambda: Batch.objects.filter(pk=batch).exclude(ended=None).exists())
        assert kill.states == ["IN_PROGRESS"]
        told = service.status(batch)
        assert told["queryStatus"] == "DONE"
        assert_nothing_is_twice(service)
        row = SentTransaction.objects.get()
        price = (row.gas_used or 0) * int(row.gas_price, 16)
        assert told["spent"] == told["queries"][0]["cost"] == str(price)
        assert ChainCost.objects.get().transactions == 1
        assert RouteRecord.objects.get().facts == 1


def _is_the_last_look(service: Service, question: Any) -> bool:
    """After the facts' words, the block's leaf is read where the chain no longer changes."""
    calls = [each["params"] for each in _several(question) if each["method"] == "eth_call"]
    deep = service.head() - CONFIRMATIONS // 2  # nothing else is asked so far below the newest
    return any(
        call["data"].startswith(ACCUMULATED) and block != "latest" and int(block, 16) < deep
        for call, block in calls
    )


def _several(question: Any) -> list[Any]:
    return question if isinstance(question, list) else [question]


def _states() -> list[str]:
    """In a thread of the server between, which keeps no connection."""
    try:
        return list(Batch.objects.values_list("status", flat=True))
    finally:
        connection.close()


@contextmanager
def _two_provers(service: Service, folder: Path, kill: Killing) -> Iterator[None]:
    """Which both work already, and one of which is killed."""
    folders = [folder / "first", folder / "second"]
    with ExitStack() as stack:
        provers: list[tuple[Between, Popen[bytes]]] = []
        for own in folders:
            own.mkdir()
            address, proxy = stack.enter_context(between(service.node.url))
            routes = routes_file(own, service.routes, address)
            provers.append((proxy, stack.enter_context(prover(own, routes))))
        _wait(lambda: all("Proving on" in (own / "log").read_text() for own in folders))
        for proxy, each in provers:
            proxy.handle = kill.at(each)
        yield
        assert sorted(str(each.poll()) for _, each in provers) == [str(-signal.SIGKILL), "None"]


def _wait(ready: Callable[[], bool], seconds: float = 40) -> None:
    until = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < until, list(Batch.objects.values("pk", "status", "waits_for"))
        time.sleep(0.05)
