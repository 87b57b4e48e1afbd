"""A worker that dies before any of its database writes loses nothing.

The worker runs in this process, because there are many such writes. After its death no statement
reaches the database, and its open transaction is rolled back, as if it had been killed.
"""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import count
from typing import Any

import pytest
from django.db import connection

from explorer.demo.local_node import LocalNode
from queries.database.clock import shared_now
from queries.engines import PROVE
from queries.feeds.runs import FeedRunHandler
from queries.models import Batch, BlockJob, ChainRecord, Feed, FeedRun, SentTransaction
from queries.prover.handlers import work_once
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, poll, running_service
from tests.rigs.service import request

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
WRITES = ("INSERT", "UPDATE", "DELETE")
EVERY = 5  # blocks, of a feed
PARTS = 4  # the writes are split into so many tests


class Killed(BaseException):
    """Not caught by a worker's error handling, as if its process died."""


class Death:
    """Kills the worker before the write that follows this number of writes."""

    def __init__(self, writes: int) -> None:
        self.writes_left = writes
        self.has_killed = False

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(WRITES):
            self.has_killed = self.has_killed or not self.writes_left
            self.writes_left -= 1
        if self.has_killed:
            raise Killed
        return execute(sql, *rest)


@pytest.mark.parametrize("first", range(PARTS))
def test_a_worker_that_dies_before_any_write_loses_nothing(node: LocalNode, first: int) -> None:
    with running_service(node) as service:
        writes = next(n for n in count(first, PARTS) if not _dies_after(n, service))
        assert writes > 20
        _assert_proven_once(service)


def _dies_after(writes: int, service: Service) -> bool:
    service.mine(4)
    service.context().head(CHAIN_ID)  # stored: otherwise the blocks would be refused
    block = service.head() - 1
    batches = [_submit_time_and_number(service, block)]
    batches += [service.ask_balance(HOLDER, block) for _ in range(2)]  # resolved together
    death = Death(writes)
    with suppress(Killed):
        _work(service, batches, death)
    assert not connection.in_atomic_block
    for model in (Batch, BlockJob):
        model.objects.exclude(lease_until=None).update(lease_until=shared_now())
    _work(service, batches)
    # Not over the API, which limits requests per minute.
    rows = Batch.objects.filter(pk__in=batches)
    assert set(rows.values_list("status", flat=True)) == {"DONE"}
    return death.has_killed


def _work(service: Service, batches: list[str], death: Death | None = None) -> None:
    """Work without pauses until these batches have ended."""
    context = service.context()
    while Batch.objects.filter(pk__in=batches, ended_at=None).exists():
        with connection.execute_wrapper(death) if death else nullcontext():
            assert work_once(PROVE, context), "nothing is due"
        service.make_all_due()


def _submit_time_and_number(service: Service, block: int) -> str:
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    seconds = int(service.header(block - 2)["timestamp"], 16)
    return service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": entry, f"block:{block}": entry}})


def _assert_proven_once(service: Service) -> None:
    """Each fact was proven by one transaction, each nonce used once, none skipped."""
    logs = service.node.rpc.ask(
        "eth_getLogs", {"address": service.registry.address, "fromBlock": "0x0"}
    )
    assert len({tuple(log["topics"]) for log in logs}) == len(logs)
    proving = {log["transactionHash"] for log in logs}
    rows = list(SentTransaction.objects.order_by("nonce"))
    assert len(rows) == len(proving)
    assert [row.nonce for row in rows] == list(range(rows[0].nonce, rows[0].nonce + len(rows)))


def test_a_prover_that_dies_before_any_write_submits_each_run_of_a_feed_once(
    node: LocalNode,
) -> None:
    with running_service(node) as service:
        _poll(service)
        batch = request({CHAIN_ID: {"block:$due": {"header": ["TIMESTAMP"]}}}, to=CHAIN_ID)
        content = {"every": f"{EVERY} blocks", "catchUp": "all", "batch": batch}
        answer = service.client.post(
            "/feeds", content, "application/json", headers={"api-key": service.key}
        )
        assert answer.status_code == 200, answer.content
        first = int(answer.json()["nextDue"].removeprefix("block:"))
        for writes in count():
            service.mine(EVERY)
            death = Death(writes)
            with suppress(Killed):
                _poll(service, death)
            assert not connection.in_atomic_block
            for model in (ChainRecord, FeedRun):
                model.objects.exclude(lease_until=None).update(lease_until=shared_now())
            _poll(service)
            if not death.has_killed:
                break
        assert writes > 5
    dues = list(FeedRun.objects.order_by("due").values_list("due", flat=True))
    assert dues == list(range(first, service.head() + 1, EVERY))
    assert FeedRun.objects.filter(batch=None).count() == 0
    assert Batch.objects.count() == len(dues)


def _poll(service: Service, death: Death | None = None) -> None:
    Feed.objects.update(next_attempt_at=None)  # a feed runs once in FEED_SECONDS
    with connection.execute_wrapper(death) if death else nullcontext():
        poll(service.context())
    FeedRun.objects.exclude(due_at=None).update(due_at=shared_now())
    with connection.execute_wrapper(death) if death else nullcontext():
        while FeedRunHandler().work_once(service.context()):
            pass
