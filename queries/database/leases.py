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
from django.db.models import Exists, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.models import BlockJob, Leased, Query, TransactionOfJob
from queries.proving.witnesses import AccountField
from queries.wait_reasons import Reason

Row = TypeVar("Row", bound=Leased)

NOT_DUE: dict[str, Any] = {
    "lease_token": "",
    "lease_until": None,
    "look_again": None,
    "waits_for": "",
    "wait_code": "",
    "failures": 0,
    "failing_since": None,
}


@dataclass(frozen=True, slots=True)
class Snooze:
    """Nothing failed; try again after a delay, by default `retry_first`."""

    why: Reason | None = None
    after: timedelta | None = None
    # The hash of the destination's head, if only a new block can change anything. The worker then
    # sets the delay (`ProverContext.pause_until_a_block`).
    since: bytes | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """The attempt failed; the next one uses the next node, after a back-off."""

    why: Reason | None
    attempts: int  # consecutive failures, including this one
    after: timedelta | None = None  # by default `Limits.back_off`


Wait = Snooze | Retry

Outcome = Wait | None  # None: nothing is left to do


def pause_of(start: datetime, limits: Limits) -> timedelta:
    """A polling interval that grows with the time waited."""
    seconds = (shared_now() - start).total_seconds() / limits.wait_fraction
    return timedelta(seconds=min(max(seconds, limits.retry_first), limits.retry_longest))


class LeaseLost(Exception):  # noqa: N818
    """Another worker has the row now, so this one must stop."""


@dataclass(frozen=True, slots=True)
class Lease(Generic[Row]):
    """A claimed row, and the token of the lease."""

    row: Row
    token: str

    def held(self) -> QuerySet[Row]:
        """A queryset of the row; empty once the lease is lost."""
        rows: QuerySet[Row] = type(self.row)._default_manager.filter(  # noqa: SLF001
            pk=self.row.pk, lease_token=self.token
        )
        return rows

    def keep(self) -> None:
        """Extend the lease, before each step with outside effects. Raises `LeaseLostError`."""
        if not self.held().update(lease_until=_lease_end(shared_now())):
            raise LeaseLost

    def reschedule(
        self,
        after: timedelta,
        why: Reason | None = None,
        *,
        failures: int = 0,
        is_provable: bool = False,
    ) -> None:
        """Release the row until `delay` has passed.

        `failures` is the number of consecutive failures, 0 if the row only waits. With
        `is_provable` the wait counts towards `batch_max_age`.
        """
        now = shared_now()
        self.held().update(
            lease_token="",
            lease_until=None,
            look_again=now + after,
            waits_for=why.sentence if why else "",
            wait_code=why.code if why else "",
            failures=failures,
            failing_since=(self.row.failing_since or now) if is_provable else None,
        )

    def close(self) -> None:
        """Release the row for good.

        A job stays due if a query was added in the meantime, or if one of its transactions is not
        settled: dropping a transaction without a resend would block all higher nonces.
        """
        with transaction.atomic():
            # Lock first, so that a worker that adds a query makes the job due after the release.
            self.held().select_for_update().first()
            rows = self.held()
            if isinstance(self.row, BlockJob):
                waiting = Query.objects.filter(job=OuterRef("pk"), ended=False)
                changing = TransactionOfJob.objects.filter(
                    job=OuterRef("pk"), transaction__settled=False
                )
                rows = rows.filter(~Exists(waiting), ~Exists(changing))
            if not rows.update(**NOT_DUE):
                self.reschedule(timedelta(0))
            elif isinstance(self.row, BlockJob):
                # Clear the header, because the chain may still replace the block. A block with
                # proven facts keeps it for the proof file.
                proven_queries = Query.objects.filter(job=OuterRef("pk"), values__isnull=False)
                jobs = BlockJob.objects.filter(
                    ~Exists(proven_queries), pk=self.row.pk, look_again=None
                )
                jobs.exclude(header=b"", block_hash="").update(header=b"", block_hash="")


def free(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=now)


def due(rows: QuerySet[Row], now: datetime, early: timedelta = timedelta(0)) -> QuerySet[Row]:
    """The rows that are due, in the order of claims."""
    available = rows.filter(free(now), look_again__lte=now + early)
    return available.order_by(rows.model.order, "pk")


def claim(
    rows: QuerySet[Row], limit: int = 1, *, early: timedelta = timedelta(0)
) -> list[Lease[Row]]:
    """Lease up to `limit` of these rows that are due now, or will be within `early`."""
    now = shared_now()
    candidates = due(rows, now, early)
    if not candidates.exists():  # without SQLite's write lock
        return []
    token = secrets.token_hex(16)
    with transaction.atomic():
        free_rows = list(candidates.select_for_update(skip_locked=True)[:limit])
        leased = rows.model._default_manager.filter(pk__in=[row.pk for row in free_rows])  # noqa: SLF001
        # Due from now: if the lease expires, rows that have waited longer are claimed first.
        leased.update(lease_token=token, lease_until=_lease_end(now), look_again=now)
    return [Lease(row, token) for row in free_rows]


def claim_one(rows: QuerySet[Row], *, early: timedelta = timedelta(0)) -> Lease[Row] | None:
    leases = claim(rows, early=early)
    return leases[0] if leases else None


def look_in_turn(jobs: QuerySet[BlockJob]) -> None:
    """Make these jobs due, with the lowest turn of the batches that wait for each job."""
    waiting = Query.objects.filter(job=OuterRef("pk"), ended=False).order_by().values("job")
    first = waiting.annotate(first=Min("batch__turn")).values("first")
    # Clear the wait, so that the next pass does not skip them (`Snooze.head_hash`).
    now = {"look_again": shared_now(), "wait_code": "", "waits_for": ""}
    jobs.update(**now, turn=Coalesce(Subquery(first), "turn"))


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.PROVER_LEASE_SECONDS)


OF_A_QUERY = len(AccountField)  # plus its slots; header fields are few


def queries_of_pass(job: BlockJob) -> list[int]:
    """The keys of the queries of a pass: about as many facts as the largest batch has."""
    # One account more than the largest batch, which may also request header fields.
    room = (settings.BATCH_ACCOUNTS + 1) * OF_A_QUERY + settings.BATCH_SLOTS
    rows = Query.objects.filter(job=job, ended=False).order_by("batch__turn", "pk")
    keys: list[int] = []
    for key, slots in rows.values_list("pk", "slot_count")[: room // OF_A_QUERY]:
        room -= OF_A_QUERY + slots
        if keys and room < 0:
            break
        keys.append(key)
    return sorted(keys)
