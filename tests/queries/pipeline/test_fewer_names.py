"""Names that no node answers together in time are asked for by fewer, down to one that hangs."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from queries.chain import ens, name_turns
from queries.chain.ens_resolvers import name_hash
from queries.chain.local_node import LocalNode
from queries.models import Batch, Query
from queries.pipeline import names
from tests.queries.chain.lying_node import LyingNode, stall
from tests.queries.contracts.local_ens import LocalEns
from tests.queries.pipeline.between import PassOn, between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
NAMES = [f"name{number}.eth" for number in range(8)]
TIMEOUT = 0.5
REST = 0.5  # times as long as it took
WHO_ASKS_RESTS = 2 * REST * TIMEOUT
EVM_TIMEOUT = {"code": -32000, "message": "execution aborted (timeout = 2s)"}

Asked = list[str]  # names, in one request to the registry


@dataclass
class Picky:
    """A node that does not answer some questions to the registry; `how` it does not."""

    refuses: Callable[[Asked], bool]
    how: Callable[[LyingNode, Any], None] = stall
    asked: list[Asked] = field(default_factory=list)
    answered: Asked = field(default_factory=list)
    at: list[float] = field(default_factory=list)  # times of what it did not answer

    def handle(self, connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        asked = _to_the_registry(question)
        if asked:
            self.asked.append(asked)
        if asked and self.refuses(asked):
            self.at.append(time.monotonic())
            self.how(connection, question)
            return
        self.answered += asked
        connection.answer(pass_on())


def _to_the_registry(question: Any) -> Asked:
    """By the registry's own question, in which a name's place is all there is."""
    calls = question if isinstance(question, list) else [question]
    data = {str(each["params"][0]["data"]) for each in calls if each["method"] == "eth_call"}
    return [name for name in NAMES if f"0x0178b8bf{name_hash(name).hex()}" in data]


@pytest.fixture
def service(shared_node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(ens, "TIMEOUT", TIMEOUT)
    monkeypatch.setattr(name_turns, "SLOW", TIMEOUT / 2)
    monkeypatch.setattr(name_turns, "REST", REST)
    registry = LocalEns(shared_node)
    for name in NAMES:
        registry.set_address(name, HOLDER)
    with running_service(shared_node, ens_registry=registry.address) as running:
        running.mine(9)
        running.chains().head(CHAIN_ID)
        yield running


def _submit(service: Service, *asked: str) -> str:
    accounts = {name: {"props": ["BALANCE"]} for name in asked}
    return service.submit({str(CHAIN_ID): {f"block:{service.head() - 1}": {"accounts": accounts}}})


def test_half_as_many_are_asked_for_until_they_are_answered_and_so_to_the_batchs_end(
    service: Service,
) -> None:
    slow = Picky(lambda asked: len(asked) > 2)
    with between(service.node.url, slow.handle) as (address, _):
        prover = through(service, address)
        chains = prover.chains()
        batch = _submit(prover, *NAMES)
        prover.work(batch, chains=chains)
        assert prover.status(batch)["queryStatus"] == "DONE"
        assert [len(asked) for asked in slow.asked] == [8, 4, 2, 2, 2, 2]
        assert sorted(slow.answered) == NAMES
        prover.work(another := _submit(prover, *NAMES[:4]), chains=chains)
        assert prover.status(another)["queryStatus"] == "DONE"
    assert [len(asked) for asked in slow.asked[6:]] == [4, 2, 2]


def test_one_that_nobody_answers_is_asked_for_alone_and_as_seldom_as_ever(
    service: Service,
) -> None:
    bad = NAMES[2]
    hanging = Picky(lambda asked: bad in asked)
    with between(service.node.url, hanging.handle) as (address, _):
        prover = through(service, address)
        chains = prover.chains()
        batch = _submit(prover, *NAMES[:4])
        prover.work_until(lambda: len(hanging.at) == 5, chains=chains)
        prover.work_until_it_waits(batch, "names_unanswered", chains)
    assert hanging.asked == [NAMES[:4], NAMES[:2], NAMES[2:4], [bad], [bad], [bad]]
    assert hanging.answered == NAMES[:2]
    assert Query.objects.exclude(account="").count() == 2
    first, second, third = _pauses(hanging.at[1:])
    assert first > TIMEOUT + WHO_ASKS_RESTS
    assert second > TIMEOUT + 2 * WHO_ASKS_RESTS
    assert third > TIMEOUT + 4 * WHO_ASKS_RESTS
    assert Batch.objects.get(pk=batch).failures == 0


def test_one_that_hangs_once_parts_no_others(service: Service) -> None:
    hiccups = iter([True])
    node = Picky(lambda asked: asked == NAMES[:1] and next(hiccups, False))
    with between(service.node.url, node.handle) as (address, _):
        prover = through(service, address)
        head, entries = service.head(), {}
        for back, names in ((3, NAMES[:1]), (2, NAMES[1:])):
            accounts = {name: {"props": ["BALANCE"]} for name in names}
            entries[f"block:{head - back}"] = {"accounts": accounts}
        prover.work(prover.submit({str(CHAIN_ID): entries}))
    assert node.asked == [NAMES[:1], NAMES[:1], NAMES[1:]]


def _pauses(times: list[float]) -> list[float]:
    return [later - one for one, later in pairwise(times)]


def test_while_nodes_rest_no_fewer_are_asked_for(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_turns, "REST", 40)
    slow = Picky(lambda _: True)
    with between(service.node.url, slow.handle) as (address, _):
        prover = through(service, address)
        batch = _submit(prover, *NAMES)
        prover.work_until_it_waits(batch, "names_unanswered")
    assert slow.asked == [NAMES]
    assert Batch.objects.get(pk=batch).names_at_once == 4


def test_a_node_that_gives_a_call_up_after_long_has_not_answered_in_time(service: Service) -> None:
    def give_up(connection: LyingNode, question: Any) -> None:
        time.sleep(TIMEOUT * 0.7)
        several = isinstance(question, list)
        told = [{"id": each["id"], "error": EVM_TIMEOUT} for each in question if several]
        connection.answer(json.dumps(told).encode())

    with between(service.node.url, Picky(lambda asked: len(asked) > 4, give_up).handle) as (
        address,
        _,
    ):
        prover = through(service, address)
        chains = prover.chains()
        batch = _submit(prover, *NAMES)
        prover.work_until(lambda: Batch.objects.get().wait_code != "", chains=chains)
        assert prover.waits(batch) == "names_unanswered"
        prover.work(batch, chains=chains)
    assert prover.status(batch)["queryStatus"] == "DONE"


def test_a_name_of_a_block_that_is_named_in_two_ways_is_asked_for_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "AT_ONCE", 1)
    well = Picky(lambda _: False)
    block = service.head() - 2
    entry = {"accounts": {name: {"props": ["BALANCE"]} for name in NAMES[:2]}}
    at = int(service.header(block)["timestamp"], 16)
    with between(service.node.url, well.handle) as (address, _):
        prover = through(service, address)
        data = {f"block:{block}": entry, f"timestamp:{at}": entry}
        prover.work(batch := prover.submit({str(CHAIN_ID): data}))
    assert prover.status(batch)["queryStatus"] == "DONE"
    assert well.asked == [[NAMES[0]], [NAMES[1]]]
