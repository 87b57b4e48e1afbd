"""What takes long goes alone, and loses nothing while it waits for its place."""

from typing import Any

import pytest

from queries.models import BlockJob, SentTransaction
from queries.pipeline import long_work, worker
from queries.pipeline.long_work import LongWork
from queries.pipeline.prove import prove as really_prove
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture(autouse=True)
def _two_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "LONG", 1)


def _long(service: Service) -> str:
    both = {"accounts": {HOLDER: {"props": ["BALANCE", "NONCE"]}}}
    return service.submit({str(CHAIN_ID): {f"block:{service.head() - 1}": both}})


def _others_have_it() -> LongWork:
    """All places, in another thread."""
    work = LongWork(2)
    work._places.acquire()
    return work


def test_who_asks_for_little_is_not_gathered_with_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[int] = []

    def prove(ready: Any) -> Any:
        together.append(len(ready))
        return really_prove(ready)

    monkeypatch.setattr(worker, "prove", prove)
    little = service.ask_balance(HOLDER, service.head() - 2)
    service.work(little, _long(service))
    assert together == [1, 1]


def test_it_keeps_its_failures_and_what_it_waits_for(service: Service) -> None:
    batch = _long(service)
    service.work_until(BlockJob.objects.exists)
    BlockJob.objects.update(failures=3, wait_code="nodes_lie", waits_for="They do not agree.")
    chains = service.chains()
    chains.long_work = _others_have_it()
    for _ in range(5):
        service.look_now()
        worker.work_once(chains)
    job = BlockJob.objects.get()
    assert (job.failures, job.wait_code, job.waits_for) == (3, "nodes_lie", "They do not agree.")
    service.look_now()
    service.work(batch)


def test_what_it_has_sent_is_followed_while_others_have_their_place(service: Service) -> None:
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = _long(service)
    service.work_until_it_says("on its way", batch)
    service.mine(1)
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    chains = service.chains()
    chains.long_work = _others_have_it()
    service.work_until(SentTransaction.objects.filter(settled=True).exists, chains=chains)
    assert service.status(batch)["queryStatus"] == "IN_PROGRESS"
    service.work(batch)
