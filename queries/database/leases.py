"""The database as a queue: a worker leases rows, and every write carries the lease's token.

If a worker dies, its lease expires and another worker claims the row. A worker that lost its lease
cannot write any more, because the row has another token. Leases use the database server's clock,
because the clocks of machines differ.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.models import BlockJob, Delivery, Fact, JobTransaction, LeasedRow, Query
from queries.proving.witnesses import AccountField
from queries.statuses import OPEN_DELIVERIES
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


@dataclass(frozen=True, slots=True)
class Snooze:
    """Nothing failed; try again after a delay, by default `initial_retry_delay`."""

    reason: Reason | None = None
    delay: timedelta | None = None
    # The hash of the destination's head, if only a new block can change anything. The worker then
    # sets the delay (`ProverContext.delay_until_next_block`).
    head_hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """The attempt failed; the next one uses the next node, after a back-off."""

    reason: Reason | None
    attempts: int  # consecutive failures, including this one
    delay: timedelta | None = None  # by default the back-off in `prover/worker`


Wait = Snooze | Retry


def recheck_pause(start: datetime, limits: Limits, maximum: float | None = None) -> timedelta:
    """A polling interval that grows with the time waited, to `max_retry_delay` or `maximum`."""
    seconds = (shared_now() - start).total_seconds() / limits.recheck_divisor
    maximum = maximum or limits.max_retry_delay
    return timedelta(seconds=min(max(seconds, limits.initial_retry_delay), maximum))


class LeaseLostError(Exception):
    """Another worker has the row now, so this one must stop."""


@dataclass(frozen=True, slots=True)
class Lease(Generic[Row]):
    """A claimed row, and the token of the lease."""

    row: Row
    token: str

    def owned_rows(self) -> QuerySet[Row]:
        """A queryset of the row; empty once the lease is lost."""
        rows: QuerySet[Row] = type(self.row)._default_manager.all()
        return rows.filter(pk=self.row.pk, lease_token=self.token)

    def extend(self) -> None:
        """Extend the lease. Raises `LeaseLostError`.

        Call this before effects outside the database, and before writes that do not check the
        token.
        """
        if not self.owned_rows().update(lease_until=_lease_end(shared_now())):
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

    def close(self) -> None:
        """Release the row for good. A job stays due if a query was added, or while one of its
        transactions is not confirmed: a dropped one that is not resent blocks all higher nonces. A
        delivery stays due if a reorg has reopened it.
        """
        with transaction.atomic():
            # Lock first, so that a worker that adds a query makes the job due after the release.
            self.owned_rows().select_for_update(no_key=True).first()
            rows = self.owned_rows()
            if isinstance(self.row, BlockJob):
                open_queries = Query.objects.filter(job=OuterRef("pk"), has_ended=False)
                links = JobTransaction.objects.filter(transaction__confirmed=False)
                rows = rows.filter(~Exists(open_queries), ~Exists(links.filter(job=OuterRef("pk"))))
            elif isinstance(self.row, Delivery):
                rows = rows.exclude(state__in=OPEN_DELIVERIES)
            if not rows.update(**NOT_DUE):
                self.reschedule(timedelta(0))
            elif isinstance(self.row, BlockJob):
                # Clear the header, because the chain may still replace the block. A block with
                # proven facts keeps it for the proof file.
                proven_facts = Fact.objects.filter(job=OuterRef("pk"), proven_at__isnull=False)
                jobs = BlockJob.objects.filter(~Exists(proven_facts), pk=self.row.pk, due_at=None)
                jobs.exclude(header=b"", block_hash="").update(header=b"", block_hash="")


def lease_free_condition(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=now)


def due_rows(
    rows: QuerySet[Row], now: datetime, lookahead: timedelta = timedelta(0)
) -> QuerySet[Row]:
    """The rows that are due, in the order of claims."""
    available = rows.filter(lease_free_condition(now), due_at__lte=now + lookahead)
    return available.order_by(rows.model.order, "pk")


def claim(
    rows: QuerySet[Row], limit: int = 1, *, lookahead: timedelta = timedelta(0)
) -> list[Lease[Row]]:
    """Lease up to `limit` of these rows that are due now, or will be within `lookahead`."""
    now = shared_now()
    candidates = due_rows(rows, now, lookahead)
    # `exists()` first, because the transaction below takes SQLite's write lock.
    return lease_rows(candidates, now, limit) if candidates.exists() else []


def lease_rows(candidates: QuerySet[Row], now: datetime, limit: int = 1) -> list[Lease[Row]]:
    """Lease the first of these due rows, except those that another worker is claiming.

    An expired lease counts as a failed attempt, so that the next one asks another node first.
    """
    token = secrets.token_hex(16)
    with transaction.atomic(savepoint=False):
        free_rows = list(candidates.select_for_update(skip_locked=True, no_key=True)[:limit])
        expired_ids = [row.pk for row in free_rows if row.lease_token]
        rows = candidates.model._default_manager.all()
        rows.filter(pk__in=expired_ids).update(failures=F("failures") + 1)
        leased_rows = rows.filter(pk__in=[row.pk for row in free_rows])
        # Due from now: if the lease expires, rows that have waited longer are claimed first.
        leased_rows.update(lease_token=token, lease_until=_lease_end(now), due_at=now)
    for row in free_rows:
        row.failures += row.pk in expired_ids
    return [Lease(row, token) for row in free_rows]


def claim_one(rows: QuerySet[Row], *, lookahead: timedelta = timedelta(0)) -> Lease[Row] | None:
    leases = claim(rows, lookahead=lookahead)
    return leases[0] if leases else None


def make_due(jobs: QuerySet[BlockJob]) -> None:
    """Make these jobs due, with the lowest turn of the batches that wait for each job."""
    open_queries = Query.objects.filter(job=OuterRef("pk"), has_ended=False)
    jobs_of_queries = open_queries.order_by().values("job")
    first_turn = jobs_of_queries.annotate(first=Min("batch__turn")).values("first")
    # Clear the wait, so that the next pass does not skip them (`Snooze.head_hash`).
    columns = {"due_at": shared_now(), "wait_code": "", "waits_for": ""}
    jobs.update(**columns, turn=Coalesce(Subquery(first_turn), "turn"))


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.PROVER_LEASE_SECONDS)


# An account's fields. Slots and events are added; header fields are too few to count.
FACTS_PER_QUERY = len(AccountField)


def query_ids_of_pass(job: BlockJob) -> list[int]:
    """The queries of a pass: ids chosen by batch turn, sorted by id.

    Limited to about as many facts as the settings allow one batch.
    """
    # One account more than the settings allow, for a batch's header fields.
    max_items = settings.BATCH_SLOTS + settings.BATCH_EVENTS
    room = (settings.BATCH_ACCOUNTS + 1) * FACTS_PER_QUERY + max_items
    rows = Query.objects.filter(job=job, has_ended=False).order_by("batch__turn", "pk")
    query_ids: list[int] = []
    columns = "pk", "slot_count", "event_count"
    for query_id, slot_count, event_count in rows.values_list(*columns)[: room // FACTS_PER_QUERY]:
        room -= FACTS_PER_QUERY + slot_count + event_count
        if query_ids and room < 0:
            break
        query_ids.append(query_id)
    return sorted(query_ids)
