"""Who waits long for what a node tells has another one asked, however rarely it is looked at; and
nobody asks it for its head then, which it may make up.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from queries.chain.heads import ChainHead
from queries.models import BlockJob
from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline import each_head
from queries.pipeline.chains import (
    COMPARED_EVERY,
    LEADS_NOWHERE_AFTER,
    STILL_WAITS,
    WAITS_AMONG_MANY,
    Chains,
)
from queries.pipeline.each_head import BLOCKS_BEHIND, SECONDS_BEHIND, Reached
from queries.routes import Chain, NodeAddress, Registry, RegistryKind, Routes
from tests.local_chain import CHAIN_ID

pytestmark = pytest.mark.no_database
NODES = (NodeAddress("http://127.0.0.1:9"), NodeAddress("http://127.0.0.1:10"))


class Clock:
    """By which a thread's doubts are counted."""

    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    held = Clock()
    monkeypatch.setattr(chains_of_a_worker, "time", SimpleNamespace(monotonic=lambda: held.now))
    return held


@pytest.fixture
def chains() -> Chains:
    return Chains(Routes({CHAIN_ID: Chain(CHAIN_ID, "Local", NODES)}))


def _turns(chains: Chains, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    turns: list[str] = []
    destination = chains.destination(CHAIN_ID)
    monkeypatch.setattr(destination, "ask_another_first", lambda: turns.append("another"))
    return turns


def test_in_a_backlog_a_thread_comes_back_late(
    clock: Clock, chains: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, job = _turns(chains, monkeypatch), BlockJob(pk=1)
    while clock.now <= LEADS_NOWHERE_AFTER:
        assert not turns
        chains.doubt(chains.destination(CHAIN_ID), job)
        clock.now += LEADS_NOWHERE_AFTER * 0.7
    chains.doubt(chains.destination(CHAIN_ID), job)
    assert turns == ["another"]


def test_what_was_doubted_long_ago_is_begun_anew(
    clock: Clock, chains: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, job = _turns(chains, monkeypatch), BlockJob(pk=1)
    chains.doubt(chains.destination(CHAIN_ID), job)
    clock.now = STILL_WAITS + 1
    chains.doubt(chains.destination(CHAIN_ID), job)
    assert not turns


def test_of_many_only_those_that_may_still_wait_are_kept(
    clock: Clock, chains: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chains_of_a_worker, "MANY_DOUBTS", 10)
    chains._many_doubts = 10
    destination = chains.destination(CHAIN_ID)
    for number in range(20):
        clock.now = number * WAITS_AMONG_MANY / 5
        chains.doubt(destination, BlockJob(pk=number))
    assert len(chains._doubted) <= 10 + 1


def _to(nodes: tuple[NodeAddress, ...]) -> Chains:
    """A destination that these tell of."""
    registry = Registry(RegistryKind.ATTESTED, 1, CHAIN_ID, f"0x{1:040x}")
    return Chains(Routes({CHAIN_ID: Chain(CHAIN_ID, "Local", nodes)}, {(1, CHAIN_ID): registry}))


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Chains:
    """Whose destination's node is behind what another one tells."""
    chains = _to(NODES)
    chains._each_head[CHAIN_ID] = each_head.EachHead(chains.chain(CHAIN_ID))
    reached = Reached(1, 1_000 + SECONDS_BEHIND, 2)
    monkeypatch.setattr(chains._each_head[CHAIN_ID], "reached", lambda: reached)
    behind = ChainHead(1, 999, bytes(32), 0)
    monkeypatch.setattr(chains.destination(CHAIN_ID), "head", lambda: behind)
    return chains


def test_whoever_is_behind_is_passed_over_every_now_and_then(
    clock: Clock, compared: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = _turns(compared, monkeypatch)
    for _ in range(2):
        compared._doubt_who_is_behind(CHAIN_ID)
    assert len(turns) == 1
    clock.now += COMPARED_EVERY
    compared._doubt_who_is_behind(CHAIN_ID)
    assert len(turns) == 2


def test_who_was_doubted_is_not_asked_first_for_its_head(
    clock: Clock, compared: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may tell of a time that has not come."""
    turns, job = _turns(compared, monkeypatch), BlockJob(pk=1)
    for clock.now in (0.0, LEADS_NOWHERE_AFTER + 1):
        compared.doubt(compared.destination(CHAIN_ID), job)
    clock.now += LEADS_NOWHERE_AFTER - 1
    compared._doubt_who_is_behind(CHAIN_ID)
    assert len(turns) == 1


@pytest.fixture
def silent() -> Iterator[tuple[NodeAddress, ...]]:
    """Nodes that take every question and answer none."""
    with ExitStack() as stack:
        listening = [
            stack.enter_context(closing(socket.create_server(("127.0.0.1", 0)))) for _ in NODES
        ]
        yield tuple(NodeAddress(f"http://127.0.0.1:{each.getsockname()[1]}") for each in listening)


def test_where_nobody_answers_no_head_is_waited_for(
    silent: tuple[NodeAddress, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else that a thread does would wait for it, again and again."""
    monkeypatch.setattr(each_head, "ALONE_WITHIN", 0.2)
    begun, chains = time.monotonic(), _to(silent)
    chains._doubt_who_is_behind(CHAIN_ID)
    assert time.monotonic() < begun + 4  # one alone is given twice as long where it is waited for
    chains._compares_at.clear()
    begun = time.monotonic()
    chains._doubt_who_is_behind(CHAIN_ID)
    assert time.monotonic() < begun + 2 * each_head.ALONE_WITHIN  # they were silent just now
    chains.close()


def test_no_one_alone_says_how_far_the_others_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three that have two which do not answer in time."""
    told = [_head(number, timestamp) for number, timestamp in ((1, 50), (2, 70), (3, 90))]
    assert _reached(told[:1], monkeypatch) is None
    assert _reached(told[:2], monkeypatch) == Reached(2, 70, 2)  # one of them may be behind
    assert _reached(told, monkeypatch) == Reached(2, 70, 3)


def _reached(heads: list[ChainHead], monkeypatch: pytest.MonkeyPatch) -> Reached | None:
    alone = each_head.EachHead(Chain(CHAIN_ID, "Local", (*NODES, NODES[0])))
    monkeypatch.setattr(alone, "told", lambda **_: heads)
    return alone.reached()


def _head(number: int, timestamp: int) -> ChainHead:
    return ChainHead(number, timestamp, bytes(32), 0)


NOW = int(time.time())
FAR = 2**40  # blocks, or seconds


@pytest.mark.parametrize(
    ("true", "made_up"),
    [
        pytest.param((5_000, NOW), (10, NOW), id="fewer blocks"),
        pytest.param((5_000, NOW), (10, FAR), id="fewer blocks, ahead of our clock"),
        pytest.param((5_000, NOW), (10, NOW + 500), id="fewer blocks, and later"),
        pytest.param((5_000, NOW), (FAR, NOW - 500), id="more blocks, and earlier"),
        pytest.param((5_000, NOW), (5_001, NOW - 500), id="hardly more, and earlier"),
        pytest.param((5_000, NOW), (FAR, FAR), id="ahead in both"),
        pytest.param((5_000, NOW), (4_000, NOW - 500), id="behind"),
        pytest.param((5_000, FAR + 500), (4_000, FAR), id="behind, on a chain ahead of our clock"),
    ],
)
def test_of_two_that_differ_the_likelier_one_is_believed(
    true: tuple[int, int], made_up: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(each_head, "time", SimpleNamespace(time=lambda: NOW))
    heads = [_head(*true), _head(*made_up)]
    for some in (heads, heads[::-1]):
        reached = _reached(some, monkeypatch)
        assert reached == Reached(*true, 2)
        assert not reached.is_ahead_of(heads[0])
    assert _reached([*heads, heads[0]], monkeypatch) == Reached(*true, 3)


def test_one_is_passed_over_for_either_of_what_it_tells() -> None:
    reached = Reached(5_000, NOW, 3)
    assert reached.is_ahead_of(_head(5_000 - BLOCKS_BEHIND - 1, NOW))
    assert reached.is_ahead_of(_head(5_000, NOW - SECONDS_BEHIND - 1))
    assert not reached.is_ahead_of(_head(5_000 - BLOCKS_BEHIND, NOW - SECONDS_BEHIND))
