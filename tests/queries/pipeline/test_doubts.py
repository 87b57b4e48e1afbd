"""Who waits long for what a node tells has another one asked, however rarely it is looked at."""

from types import SimpleNamespace

import pytest

from queries.models import BlockJob
from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline.chains import LEADS_NOWHERE_AFTER, STILL_WAITS, Chains
from queries.routes import Chain, NodeAddress, Routes
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
        clock.now = number * STILL_WAITS / 5
        chains.doubt(destination, BlockJob(pk=number))
    assert len(chains._doubted) <= 10 + 1
