"""While a transaction is on its way the registry is asked for its facts once a block."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import BlockJob, Query, SentTransaction
from queries.pipeline import last_looks
from queries.pipeline.chains import Chains
from queries.pipeline.worker import work_once
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
CONFIRMATIONS = 3


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, confirmations=CONFIRMATIONS) as running:
        running.mine(4)
        yield running
        node.rpc.ask_many("evm_setAutomine", [(True,)])


class Calls:
    """How often each was asked what it holds, at its newest block or another."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    def __call__(self, connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        for each in question if isinstance(question, list) else [question]:
            if each["method"] == "eth_call":
                self.counted[json.dumps(each["params"][0])] += 1
        connection.answer(pass_on())

    def most(self) -> int:
        """Of any one question, since this was asked last."""
        found = max(self.counted.values(), default=0)
        self.counted.clear()
        return found


def _look(times: int, chains: Chains) -> None:
    """So often jobs are looked at."""
    until = time.monotonic() + 30
    while times and time.monotonic() < until:
        if work_once(chains):
            times -= 1
        else:
            time.sleep(0.02)
    assert not times


def _sent(service: Service, *accounts: str) -> tuple[str, Chains]:
    """A batch whose transaction waits for a block, and what the prover knows of it."""
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    entry = {"accounts": {each: {"props": ["BALANCE"]} for each in accounts}}
    batch = service.submit({str(CHAIN_ID): {f"block:{service.head() - 1}": entry}})
    chains = service.chains()
    until = time.monotonic() + 30
    while not SentTransaction.objects.exclude(sent=None).exists() and time.monotonic() < until:
        work_once(chains)
    return batch, chains


def test_facts_are_asked_once_a_block_until_they_are_confirmed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 600.0)
    calls = Calls()
    with between(service.node.url, calls) as (address, _):
        prover = through(service, address)
        batch, chains = _sent(prover, *(f"0x{place:040x}" for place in range(1, 6)))
        _look(2, chains)  # the first one at what was sent
        calls.most()
        _look(5, chains)
        assert calls.most() == 0
        for _ in range(CONFIRMATIONS - 1):
            service.node.rpc.ask("evm_mine")
            _look(5, chains)
            # What is there now, and what was there when the block was as deep as it counts.
            assert 1 <= calls.most() <= 3
        assert service.status(batch)["queryStatus"] == "IN_PROGRESS"
        service.node.rpc.ask("evm_mine")
        service.work(batch, seconds=20, chains=chains)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_without_a_block_facts_are_asked_again_after_some_time(service: Service) -> None:
    calls = Calls()
    with between(service.node.url, calls) as (address, _):
        _, chains = _sent(through(service, address), HOLDER)
        _look(2, chains)
        calls.most()
        begin = time.monotonic()
        while time.monotonic() < begin + last_looks.ANEW_AFTER + 1:
            _look(1, chains)
        longest = time.monotonic() - begin
    assert 1 <= calls.most() <= 1 + longest // last_looks.ANEW_AFTER


def test_who_comes_later_is_looked_at_at_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The block's job was looked at a moment ago, for others."""
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 600.0)
    _, chains = _sent(service, HOLDER)
    _look(2, chains)
    other = f"0x{7:040x}"
    service.ask_balance(other, BlockJob.objects.get().block)
    _look(3, chains)  # at the batch, and at the job
    assert Query.objects.get(account__iexact=other).initial_state_completed
