"""What every handler promises, whatever happens to its worker: the end is as without the fault.

A worker that dies or loses its database does so in this process, because there are many statements
after which it may. After a death no statement reaches the database, and the open transaction is
rolled back, as if the process had been killed.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from explorer.demo.local_node import LocalNode
from queries.models import SentTransaction
from queries.prover.handlers import HANDLERS
from tests.queries.prover.handler_cases import CASES, NO_NODE, HandlerCase, new_case

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
WRITES = ("INSERT", "UPDATE", "DELETE")
EVERY_NTH_OUTAGE = 7  # statements between those with which the database goes
MANY_PASSES = 8


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, node: LocalNode) -> Iterator[HandlerCase]:
    with new_case(request.param, node) as made:
        yield made


def test_there_is_a_case_for_each_handler() -> None:
    assert sum(map(len, HANDLERS.values())) == len(CASES)


class Killed(BaseException):
    """Not caught by a worker's error handling, as if its process died."""


class Fault:
    """Raises an error from the statement on that follows so many of these."""

    def __init__(self, error: BaseException, after: int, kinds: tuple[str, ...] = ("",)) -> None:
        self.error, self.statements_left, self.kinds = error, after, kinds
        self.has_begun = False

    def __call__(self, execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(self.kinds):
            self.has_begun |= not self.statements_left
            self.statements_left -= 1
        if self.has_begun:
            raise self.error
        return execute(sql, *rest)


def _finish_after(case: HandlerCase, fault: Fault) -> bool:
    """Work under the fault and then without it. Returns whether it has begun before the end."""
    case.begin()
    with suppress(Killed, OperationalError), connection.execute_wrapper(fault):
        case.finish(case.context(), MANY_PASSES)
    assert not connection.in_atomic_block
    case.expire_leases()
    case.finish(case.context())
    return fault.has_begun


def test_a_worker_that_dies_before_any_write_loses_nothing(case: HandlerCase) -> None:
    for writes in count(0, case.stride):
        if not _finish_after(case, Fault(Killed(), writes, WRITES)):
            break
    assert writes > 3
    case.check()


def test_a_database_that_goes_at_a_statement_loses_nothing(case: HandlerCase) -> None:
    for statements in count(0, EVERY_NTH_OUTAGE * case.stride):
        if not _finish_after(case, Fault(OperationalError("the server is gone"), statements)):
            break
    assert statements
    case.check()


def test_a_worker_that_has_lost_its_lease_leaves_the_row_alone(case: HandlerCase) -> None:
    case.begin()
    case.make_due()
    context = case.context()
    lease = case.handler.claim(context)
    assert lease
    rows = case.handler.model.objects.filter(pk=lease.row.pk)
    rows.update(lease_token="another's", waits_for="another's")
    case.handler.process(lease, context)
    assert not case.is_over()
    assert rows.get().lease_token == rows.get().waits_for == "another's"
    case.expire_leases()
    case.finish(context)
    case.check()


def test_two_workers_at_once_do_the_work_once(case: HandlerCase) -> None:
    def work(_: int) -> None:
        case.finish(case.context())
        connections.close_all()

    for _ in range(2):
        case.begin()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(2)))
    case.check()


def test_a_row_waits_while_no_node_answers(case: HandlerCase) -> None:
    case.begin()
    case.finish(case.context(NO_NODE), MANY_PASSES)
    assert case.is_over() != case.asks_nodes
    case.finish(case.context())
    case.check()


@pytest.mark.parametrize(("name", "waits"), [("job", True), ("delivery", True), ("upkeep", False)])
def test_a_row_whose_transaction_exceeds_the_daily_budget_waits(
    node: LocalNode, name: str, *, waits: bool
) -> None:
    """Not an update of a registry: without it the registry would stop for good."""
    with new_case(name, node) as case:
        case.begin()
        sent = SentTransaction.objects.count()
        case.finish(case.context(daily_budget=0 if waits else 1), MANY_PASSES)
        assert case.is_over() != waits
        if waits:
            rows = case.handler.model.objects.exclude(due_at=None)
            assert {row.wait_code for row in rows} - {""} == {"daily_budget_spent"}
            assert SentTransaction.objects.count() == sent
        case.finish(case.context())
        case.check()
