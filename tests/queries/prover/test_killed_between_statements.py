"""A worker that dies before any of its writes: what it had written already loses nothing.

In this process, because there are many such places: from its death on nothing that it says
reaches the database, and a transaction that it had begun is rolled back, as when it is killed.
"""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import count
from typing import Any

import pytest
from django.db import connection

from explorer.demo.local_node import LocalNode
from queries.database.clock import shared_now
from queries.models import Batch, BlockJob
from queries.prover.worker import work_once
from tests.queries.prover.proven_once import assert_nothing_is_twice
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
WRITES = ("INSERT", "UPDATE", "DELETE")
PARTS = 4  # that the writes are tried in, each by a test


class Killed(BaseException):
    """Nothing of ours catches it."""


class Death:
    """Comes before the write that follows on so many others."""

    def __init__(self, writes: int) -> None:
        self.left = writes
        self.came = False

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(WRITES):
            self.came = self.came or not self.left
            self.left -= 1
        if self.came:
            raise Killed
        return execute(sql, *rest)


@pytest.mark.parametrize("first", range(PARTS))
def test_a_worker_that_dies_before_any_write_loses_nothing(node: LocalNode, first: int) -> None:
    with running_service(node) as service:
        some = count(first, PARTS)
        places = next(writes for writes in some if not _dies_after(writes, service))
        assert places > 20
        assert_nothing_is_twice(service)


def _dies_after(writes: int, service: Service) -> bool:
    service.mine(4)
    service.chains().head(CHAIN_ID)  # seen, or these blocks would be ones that nobody knows of
    block = service.head() - 1
    batches = [_by_time_and_number(service, block)]
    batches += [service.ask_balance(HOLDER, block) for _ in range(2)]  # settled together
    death = Death(writes)
    with suppress(Killed):
        _work(service, batches, death)
    assert not connection.in_atomic_block
    _let_leases_run_out()
    _work(service, batches)
    # Not by the API, which has a limit a minute.
    ended = Batch.objects.filter(pk__in=batches)
    assert set(ended.values_list("status", flat=True)) == {"DONE"}
    return death.came


def _work(service: Service, batches: list[str], death: Death | None = None) -> None:
    """Until these have ended, without the pauses: there are many places."""
    chains = service.chains()
    while Batch.objects.filter(pk__in=batches, ended=None).exists():
        with connection.execute_wrapper(death) if death else nullcontext():
            assert work_once(chains), "nobody looks at what is not done"
        for rows in (Batch.objects, BlockJob.objects):
            rows.exclude(look_again=None).update(look_again=shared_now())


def _by_time_and_number(service: Service, block: int) -> str:
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    seconds = int(service.header(block - 2)["timestamp"], 16)
    return service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": entry, f"block:{block}": entry}})


def _let_leases_run_out() -> None:
    for rows in (Batch.objects, BlockJob.objects):
        rows.exclude(lease_until=None).update(lease_until=shared_now())
