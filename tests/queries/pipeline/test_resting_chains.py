"""One chain whose nodes hang keeps no thread from the work for others."""

import math
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from queries.chain.errors import NodesLie, NodesLimited, NodesUnreachable
from queries.models import Batch, Head
from queries.pipeline import each_head, resting_chains
from queries.pipeline.resting_chains import (
    LEAST_UNASKED_REST,
    LONG,
    MOST_REST,
    MOST_UNASKED_REST,
    REST,
    REST_ANSWERED,
    UNASKED_REST,
    RestingChains,
)
from queries.pipeline.worker import work_once
from tests.queries.chain.lying_node import lying_node, stall
from tests.queries.pipeline.between import between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service

HANG = NodesUnreachable("They hang.")


class Clock:
    now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    held = Clock()
    monkeypatch.setattr(resting_chains, "time", SimpleNamespace(monotonic=lambda: held.now))
    return held


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("took", "rest"), [(2.0, 2.0 * REST), (16.0, MOST_REST)], ids=["some", "long"]
)
def test_who_waits_for_a_chain_that_hangs_hears_at_once_what_it_is(
    clock: Clock, took: float, rest: float
) -> None:
    chains = RestingChains()
    assert chains.told(1) is None
    chains.failed(1, HANG, -took)
    clock.now = rest - 0.1
    told = chains.told(1)
    assert isinstance(told, NodesUnreachable)
    assert told.sentence == HANG.sentence
    assert told.known_for == pytest.approx(0.1)
    assert not HANG.known_for
    assert chains.told(2) is None


@pytest.mark.no_database
def test_one_finds_out_whether_they_are_back(clock: Clock) -> None:
    chains = RestingChains()
    chains.failed(1, HANG, -4.0)
    clock.now = 4.0 * REST
    assert chains.told(1) is None
    assert chains.told(1) is not None
    clock.now += 4.0  # whoever was to find out is gone
    assert chains.told(1) is None
    chains.answered(1, clock.now)
    assert chains.told(1) is None


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("fault", "took"), [(HANG, LONG), (NodesLie("They lie."), 16.0)], ids=["at once", "a lie"]
)
def test_who_fails_at_once_or_lies_is_asked_again(
    clock: Clock, fault: NodesUnreachable | NodesLie, took: float
) -> None:
    """Each lie is to be heard: so many of them end a batch."""
    chains = RestingChains()
    chains.failed(1, HANG, -16.0)
    chains.failed(1, fault, clock.now - took)
    assert chains.told(1) is None


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("took", "rest"),
    [(0.01, LEAST_UNASKED_REST), (8.0, 8.0 * UNASKED_REST), (24.0, MOST_UNASKED_REST)],
)
def test_a_chain_that_fails_is_left_alone_by_who_asks_for_nobody(
    clock: Clock, took: float, rest: float
) -> None:
    chains = RestingChains()
    chains.failed(1, NodesLimited("Too many."), -took)
    clock.now = rest - 0.1
    assert chains.is_left_alone(1)
    clock.now = rest
    assert not chains.is_left_alone(1)


@pytest.mark.no_database
def test_one_that_answers_slowly_is_asked_less_often_by_who_asks_for_nobody(clock: Clock) -> None:
    """Else a thread would look at it all the time, and do nothing else."""
    chains = RestingChains()
    chains.answered(1, -LONG)
    assert not chains.has_slow_head(1)
    chains.answered(1, -8.0)
    clock.now = REST_ANSWERED - 0.1
    assert chains.has_slow_head(1)
    assert not chains.is_left_alone(1)
    assert chains.told(1) is None
    clock.now = REST_ANSWERED
    assert not chains.has_slow_head(1)


@pytest.mark.no_database
def test_what_another_thread_still_waited_for_says_nothing_once_it_has_answered(
    clock: Clock,
) -> None:
    chains = RestingChains()
    clock.now = 18.0
    chains.answered(1, 17.0)
    chains.failed(1, HANG, 2.0)
    assert chains.told(1) is None
    assert not chains.is_left_alone(1)


@pytest.fixture
def hanging() -> Iterator[list[str]]:
    with ExitStack() as stack:
        yield [stack.enter_context(lying_node(stall)) for _ in range(2)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_many_batches_of_a_chain_that_hangs_take_no_longer_than_one(
    service: Service, hanging: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever thread looks at them."""
    impatient(monkeypatch, timeout=0.6, patience=0)
    monkeypatch.setattr(resting_chains, "LONG", 0.1)
    monkeypatch.setattr(resting_chains, "REST", 50)
    service.mine(10)
    Head.objects.all().delete()  # each is looked at for its head
    for back in range(8):
        service.ask_balance(HOLDER, service.head() - back)
    prover, shared = through(service, *hanging), RestingChains()
    threads = [replace(prover.chains(), resting=shared, looks_at_final=math.inf) for _ in range(2)]
    work_once(threads[0])
    begun = time.monotonic()
    for each in threads * 4:
        work_once(each)
    assert time.monotonic() < begun + 1
    for each in threads:
        each.close()
    told = Batch.objects.exclude(wait_code="")
    assert set(told.values_list("wait_code", flat=True)) == {NodesUnreachable.code}
    assert len(told) > 6
    assert not told.filter(failures__gt=0).exists()  # none of them has asked


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_one_that_is_slow_and_behind_is_passed_over(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is asked by those that wait."""
    monkeypatch.setattr(resting_chains, "LONG", 0.0)
    monkeypatch.setattr(resting_chains, "REST_ANSWERED", 600.0)
    monkeypatch.setattr(each_head, "BLOCKS_BEHIND", 2)
    service.mine(10)
    before = service.head() - 5
    (block,) = service.node.rpc.ask_many("eth_getBlockByNumber", [(hex(before), False)])

    def is_behind(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            answer["result"] = block

    with between(service.node.url, retold(is_behind)) as (behind, _):
        chains = through(service, behind, service.node.url, service.node.url).chains()
        assert chains.head(CHAIN_ID).number == before
        chains.look_at_heads()
        assert chains.head(CHAIN_ID).number == service.head()
        chains.close()
