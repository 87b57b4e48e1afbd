"""Nobody offers too little by the word of one node while the others are busy or slow."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from queries.chain import nodes
from queries.chain.local_node import LocalNode
from queries.models import Batch, SentTransaction
from queries.pipeline.verdicts import LOOKS_WITH_ONE
from queries.pipeline.worker import work_once
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Change, Handle, PassOn, between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, Service, running_service
from tests.queries.pipeline.test_a_bad_node_first import GWEI, refuses_to_estimate
from tests.queries.pipeline.test_heard_from_all import AWAY, BALANCE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
TIPS = ("eth_maxPriorityFeePerGas", "eth_gasPrice", "eth_feeHistory")
SLOW = 0.2  # seconds
MANY = 40  # looks


@pytest.fixture
def service(node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    impatient(monkeypatch, patience=0)
    with running_service(node, free=False, dearest_gas=ETHER) as running:
        running.mine(12)
        yield running


def busy_for(*methods: str) -> Change:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] in methods:
            answer.pop("result", None)
            answer["error"] = {"code": -32005, "message": "request rate limited"}

    return change


def is_slow(connection: LyingNode, _question: Any, pass_on: PassOn) -> None:
    time.sleep(SLOW + 0.05)
    connection.answer(pass_on())


def dear(asked: Any, answer: Any) -> None:
    if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
        answer["result"]["baseFeePerGas"] = hex(200 * GWEI)


def dear_and_busy(asked: Any, answer: Any) -> None:
    """So that others have the last word of what it says."""
    dear(asked, answer)
    busy_for(*TIPS)(asked, answer)


def _data(service: Service) -> dict[str, Any]:
    return {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}


def _look(prover: Service, batch: str, looks: int) -> bool:
    """So often at most; whether it has ended."""
    chains = prover.chains()
    for _ in range(looks):
        if Batch.objects.get(pk=batch).ended:
            return True
        prover.look_now()
        work_once(chains)
    return Batch.objects.get(pk=batch).ended is not None


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize(
    ("lie", "busy"),
    [
        (dear, busy_for("eth_estimateGas", *TIPS)),
        (dear_and_busy, busy_for("eth_estimateGas")),
    ],
    ids=["its word", "with the last one another's"],
)
def test_while_the_others_are_busy_its_word_is_nobodys_end(
    service: Service, lie: Change, busy: Change, others: int, place: int
) -> None:
    """They answer any other question, and say nothing of a price."""
    data, url = _data(service), service.node.url
    needed = service.estimate(data).json()["feeNeeded"]
    with ExitStack() as stack:
        listed = [stack.enter_context(between(url, retold(busy)))[0] for _ in range(others)]
        listed.insert(place, stack.enter_context(between(url, retold(lie)))[0])
        batch = service.submit(data, fee=needed)
        assert not _look(through(service, *listed), batch, 3)
        assert service.waits(batch) == "price_asked_again"
        assert _look(through(service, listed[place], *[url] * others), batch, MANY)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("others", [1, 2])
def test_nor_is_it_while_they_are_slow(
    service: Service, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """Whoever is slow is asked last, and who is quick names the price of what they estimate."""
    monkeypatch.setattr(nodes, "SLOW", SLOW)
    data, url = _data(service), service.node.url
    needed = service.estimate(data).json()["feeNeeded"]
    with ExitStack() as stack:
        listed = [stack.enter_context(between(url, is_slow))[0] for _ in range(others)]
        listed.insert(1, stack.enter_context(between(url, retold(dear)))[0])
        batch = service.submit(data, fee=needed)
        assert not _look(through(service, *listed), batch, 3)
        assert _look(through(service, listed[1], *[url] * others), batch, MANY)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_a_slow_ones_word_of_gas_is_not_taken_for_the_next_ones(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two, the other one says that the fee covers it, whichever names what is tried first."""
    monkeypatch.setattr(nodes, "SLOW", SLOW)
    data, url = _data(service), service.node.url
    needed = service.estimate(data).json()["feeNeeded"]
    asked: list[str] = []

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        def much(one: Any, answer: Any) -> None:
            if one["method"] == "eth_estimateGas":
                asked.append(one["method"])
                if len(asked) == 1:
                    time.sleep(SLOW + 0.05)
                answer["result"] = hex(2**23)

        retold(much)(connection, question, pass_on)

    with between(url, handle) as (address, _):
        prover = through(service, address, url)
        batch = prover.submit(data, fee=needed)
        prover.work(batch)
    assert asked
    assert service.status(batch)["queryStatus"] == "DONE"


Others = Callable[[Service], Handle]


def _away(_: Service) -> Handle:
    def handle(connection: LyingNode, _question: Any, _pass_on: PassOn) -> None:
        connection.send_error(503)

    return handle


def _busy(_: Service) -> Handle:
    return retold(busy_for("eth_estimateGas", *TIPS))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("other", [_away, _busy, refuses_to_estimate])
def test_where_the_other_one_never_says_it_is_told_in_the_end(
    service: Service, other: Others, place: int
) -> None:
    """After some minutes, or where it refuses everything when both were asked first twice."""
    url = service.node.url
    with between(url, other(service)) as (address, _):
        listed = [url]
        listed.insert(place, address)
        prover = through(service, *listed)
        batch = prover.submit(_data(service), fee="1")
        assert not _look(prover, batch, 4 if other is refuses_to_estimate else LOOKS_WITH_ONE)
        assert _look(prover, batch, 5)
    assert service.status(batch)["code"] == "fee_too_low"
    assert not SentTransaction.objects.exists()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_two_say_or_the_only_one_is_told_at_once(service: Service, count: int) -> None:
    url = service.node.url
    listed = [url] * count if count < 3 else [url, AWAY, url]
    prover = through(service, *listed)
    batch = prover.submit(_data(service), fee="1")
    assert _look(prover, batch, 2)  # one settles it
    assert service.status(batch)["code"] == "fee_too_low"
