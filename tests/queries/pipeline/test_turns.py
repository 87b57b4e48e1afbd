"""What waits or fails leaves its turn to what is ready."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import Batch, BlockJob, SentTransaction
from queries.pipeline import worker
from queries.pipeline.advance import advance
from queries.pipeline.clock import shared_now
from queries.pipeline.worker import work_once
from tests.queries.pipeline.between import between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, finality=4) as running:
        running.mine(12)
        running.chains().head(CHAIN_ID)
        yield running


def test_batches_that_wait_leave_time_for_what_is_ready(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many wait for their blocks that one of them is always due."""
    later = int(service.header(service.head())["timestamp"], 16)
    waiting = service.submit({str(CHAIN_ID): {f"timestamp:{later}": BALANCE}})
    ready = service.ask_balance(HOLDER, service.head() - 5)
    monkeypatch.setattr(worker, "SETTLING", 0.1)
    chains = service.chains()
    until = time.monotonic() + 3
    while time.monotonic() < until:
        Batch.objects.filter(pk=waiting).update(look_again=shared_now())
        BlockJob.objects.update(look_again=shared_now())
        work_once(chains)
    assert service.status(ready)["queryStatus"] == "DONE"
    assert Batch.objects.get(pk=waiting).status == "RECEIVED"


def test_jobs_that_wait_are_looked_at_once_while_others_are_gathered(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Counter[int]()

    def counted(lease: Any, chains: Any) -> Any:
        looks[lease.row.block] += 1
        return advance(lease, chains)

    monkeypatch.setattr(worker, "advance", counted)
    later, block = service.head(), service.head() - 5
    for each in (block, later):
        service.ask_balance(HOLDER, each)
    chains = service.chains()
    while not SentTransaction.objects.exists():
        looks.clear()
        BlockJob.objects.filter(block=block).update(look_again=shared_now())
        assert work_once(chains)
    assert looks == {block: 1, later: 1}


def test_one_that_no_node_prices_does_not_take_the_others_with_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, patience=0.5)  # a refusal may pass, so it is asked again for so long
    bad, *good = (service.head() - place for place in range(5, 8))
    stated = service.header(bad)["parentHash"].removeprefix("0x")

    def refuse(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas" and stated in json.dumps(asked):
            answer.pop("result", None)
            answer["error"] = {"code": -32603, "message": "it is broken"}

    batches = [service.ask_balance(HOLDER, block) for block in (bad, *good)]
    with between(service.node.url, retold(refuse)) as (address, _):
        through(service, address).work(*batches[1:], seconds=60)
    assert [service.status(batch)["queryStatus"] for batch in batches[1:]] == ["DONE", "DONE"]
    service.look_now()
    service.work(batches[0], seconds=60)
    assert service.status(batches[0])["queryStatus"] == "DONE"
