"""The database as a queue: a worker leases rows, and every write carries the lease's token.

If a worker dies, its lease expires and another worker claims the row. A worker that lost its lease
cannot write any more, because the row has another token. Leases use the database server's clock,
because the clocks of machines differ.
"""

import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.models import BlockJob, LeasedRow, Query
from queries.wait_reasons import Reason

Row = TypeVar("Row", bound=LeasedRow)

NOT_DUE: dict[str, Any] = {
    "lease_token": "",
    "lease_until": None,
    "due_at": None,
    "waits_for": "",
    "wait_code": "",
    "failures": 0,
    "provable_since": None,
}


def recheck_pause(start: datetime, limits: Limits, maximum: float | None = None) -> timedelta:
    """A polling interval that grows with the time waited, to `max_retry_delay` or `maximum`."""
    seconds = (shared_now() - start).total_seconds() / limits.recheck_divisor
    maximum = maximum or limits.max_retry_delay
    return timedelta(seconds=min(max(seconds, limits.initial_retry_delay), maximum))


class ConcurrentWorkError(Exception):
    """Another process has done this work, or changed what it rests on: make another pass."""


class LeaseLostError(ConcurrentWorkError):
    """Another worker has the row now, so this one must stop."""


@dataclass(frozen=True, slots=True)
class Lease(Generic[Row]):
    """A claimed row, and the token of the lease."""

    row: Row
    token: str
    seconds: float  # until it expires, unless it is extended

    def owned_rows(self) -> QuerySet[Row]:
        """A queryset of the row; empty once the lease is lost."""
        rows: QuerySet[Row] = type(self.row)._default_manager.all()
        return rows.filter(pk=self.row.pk, lease_token=self.token)

    def extend(self) -> None:
        """Extend the lease. Raises `LeaseLostError`.

        Call this before effects outside the database, and before writes that do not check the
        token.
        """
        if not self.owned_rows().update(lease_until=_lease_end(shared_now(), self.seconds)):
            raise LeaseLostError

    def reschedule(
        self,
        delay: timedelta,
        reason: Reason | None = None,
        *,
        failures: int = 0,
        counts_towards_max_age: bool = False,
    ) -> None:
        """Release the row and make it due after `delay`.

        `failures`: how many attempts in a row have failed. `counts_towards_max_age`: whether this
        wait counts towards `batch_max_age`.
        """
        now, provable_since = shared_now(), self.row.provable_since
        if counts_towards_max_age:
            provable_since = provable_since or now
        elif provable_since:
            provable_since += delay
        self.owned_rows().update(
            lease_token="",
            lease_until=None,
            due_at=now + delay,
            waits_for=reason.sentence if reason else "",
            wait_code=reason.code if reason else "",
            failures=failures,
            provable_since=provable_since,
        )

    def close(self, stays_due: Q) -> None:
        """Release the row for good; one for which `stays_due` holds is due again at once."""
        with transaction.atomic():
            # Lock first, so that a worker that adds work makes the row due after the release.
            self.owned_rows().select_for_update(no_key=True).first()
            if not self.owned_rows().exclude(stays_due).update(**NOT_DUE):
                self.reschedule(timedelta(0))


def lease_free_condition(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=now)


def due_rows(
    rows: QuerySet[Row], now: datetime, lookahead: timedelta = timedelta(0)
) -> QuerySet[Row]:
    """The rows that are due, in the order of claims."""
    available = rows.filter(lease_free_condition(now), due_at__lte=now + lookahead)
    return available.order_by(rows.model.order, "pk")


def claim(
    rows: QuerySet[Row],
    limit: int = 1,
    *,
    lookahead: timedelta = timedelta(0),
    seconds: float = math.inf,
) -> list[Lease[Row]]:
    """Lease up to `limit` of these rows that are due now, or will be within `lookahead`. For
    PROVER_LEASE_SECONDS, or `seconds` if that is less.
    """
    now = shared_now()
    candidates = due_rows(rows, now, lookahead)
    # `exists()` first, because the transaction below takes SQLite's write lock.
    return lease_rows(candidates, now, limit, seconds) if candidates.exists() else []


def lease_rows(
    candidates: QuerySet[Row], now: datetime, limit: int = 1, seconds: float = math.inf
) -> list[Lease[Row]]:
    """Lease the first of these due rows, except those that another worker is claiming.

    An expired lease counts as a failed attempt, so that the next one asks another node first.
    """
    token, seconds = secrets.token_hex(16), min(seconds, settings.PROVER_LEASE_SECONDS)
    with transaction.atomic(savepoint=False):
        free_rows = list(candidates.select_for_update(skip_locked=True, no_key=True)[:limit])
        expired_ids = [row.pk for row in free_rows if row.lease_token]
        rows = candidates.model._default_manager.all()
        rows.filter(pk__in=expired_ids).update(failures=F("failures") + 1)
        leased_rows = rows.filter(pk__in=[row.pk for row in free_rows])
        # Due from now: if the lease expires, rows that have waited longer are claimed first.
        leased_rows.update(lease_token=token, lease_until=_lease_end(now, seconds), due_at=now)
    for row in free_rows:
        row.failures += row.pk in expired_ids
    return [Lease(row, token, seconds) for row in free_rows]


def claim_one(
    rows: QuerySet[Row], *, lookahead: timedelta = timedelta(0), seconds: float = math.inf
) -> Lease[Row] | None:
    leases = claim(rows, lookahead=lookahead, seconds=seconds)
    return leases[0] if leases else None


def make_due(jobs: QuerySet[BlockJob]) -> None:
    """Make these jobs due, with the lowest turn of the batches that wait for each job."""
    open_queries = Query.objects.filter(job=OuterRef("pk"), has_ended=False)
    jobs_of_queries = open_queries.order_by().values("job")
    first_turn = jobs_of_queries.annotate(first=Min("batch__turn")).values("first")
    # Clear the wait, so that the next pass does not skip them (`jobs._wait_for_new_block`).
    columns = {"due_at": shared_now(), "wait_code": "", "waits_for": ""}
    jobs.update(**columns, turn=Coalesce(Subquery(first_turn), "turn"))


def _lease_end(now: datetime, seconds: float) -> datetime:
    return now + timedelta(seconds=seconds)
