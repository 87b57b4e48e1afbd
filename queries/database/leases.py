"""The database as the queue: a worker claims rows for a time, with a token.

If a worker dies, its lease expires and another worker claims the row. A worker that lost its lease
writes nothing any more, because its token is no longer the row's. Leases go by the database's clock
where it has one, because the clocks of machines differ.
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
    """Nothing failed, and nothing more can be done before `after`; by default, `retry_first`.

    If `since` is given, the worker sets the pause (`Chains.pause_until_a_block`).
    """

    why: Reason | None = None
    after: timedelta | None = None
    # Hash of the destination's newest block, if only another block can change anything.
    since: bytes | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """This attempt failed. The next one asks the next node, after a back-off."""

    why: Reason | None
    attempts: int  # failed ones in a row, this one included
    after: timedelta | None = None  # by default, a pause that doubles with each attempt


Wait = Snooze | Retry

Outcome = Wait | None  # None: nothing is left to do


def pause_of(since: datetime, limits: Limits) -> timedelta:
    """A fraction of the wait since then: a row is read often at first, and seldom later."""
    waited = (shared_now() - since).total_seconds() / limits.wait_fraction
    return timedelta(seconds=min(max(waited, limits.retry_first), limits.retry_longest))


class LeaseLost(Exception):  # noqa: N818
    """Another worker has the row now: this one must do and write nothing more."""


@dataclass(frozen=True, slots=True)
class Lease(Generic[Row]):
    """A claimed row, and the token that every write to it carries."""

    row: Row
    token: str

    def held(self) -> QuerySet[Row]:
        """The row, as long as it is ours."""
        rows: QuerySet[Row] = type(self.row)._default_manager.filter(  # noqa: SLF001
            pk=self.row.pk, lease_token=self.token
        )
        return rows

    def keep(self) -> None:
        """Extend the lease; call it before each step that others can see. Raises `LeaseLost`."""
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
        """Release the row until `after` has passed.

        `failures`: consecutive ones, this one included; 0: it only waits. `is_provable`: the wait
        counts towards `batch_max_age`.
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

        A job stays due if a query was added meanwhile, or while a transaction of it may change:
        one that is dropped and not sent again would hold up all higher nonces.
        """
        with transaction.atomic():
            # Locked first: a worker that adds a query now makes the job due after it is closed.
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
                # Forget the header, because the chain may still replace the block; but keep it if
                # something of the block was proven, because the proof file needs it.
                proven = Query.objects.filter(job=OuterRef("pk"), values__isnull=False)
                closed = BlockJob.objects.filter(~Exists(proven), pk=self.row.pk, look_again=None)
                closed.exclude(header=b"", block_hash="").update(header=b"", block_hash="")


def free(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=now)


def due(rows: QuerySet[Row], now: datetime, early: timedelta = timedelta(0)) -> QuerySet[Row]:
    """In the order in which they are claimed."""
    return rows.filter(free(now), look_again__lte=now + early).order_by(rows.model.order, "pk")


def claim(
    rows: QuerySet[Row], most: int = 1, *, early: timedelta = timedelta(0)
) -> list[Lease[Row]]:
    """Lease up to `most` of these rows that are due now, or will be within `early`."""
    now = shared_now()
    found = due(rows, now, early)
    if not found.exists():  # without SQLite's write lock
        return []
    token = secrets.token_hex(16)
    with transaction.atomic():
        claimed = list(found.select_for_update(skip_locked=True)[:most])
        named = rows.model._default_manager.filter(pk__in=[row.pk for row in claimed])  # noqa: SLF001
        # Due from now on: if the lease expires, rows that have waited longer are claimed first.
        named.update(lease_token=token, lease_until=_lease_end(now), look_again=now)
    return [Lease(row, token) for row in claimed]


def claim_one(rows: QuerySet[Row], *, early: timedelta = timedelta(0)) -> Lease[Row] | None:
    leases = claim(rows, early=early)
    return leases[0] if leases else None


def look_in_turn(jobs: QuerySet[BlockJob]) -> None:
    """Make these jobs due, each with the earliest turn of the batches that wait for it."""
    waiting = Query.objects.filter(job=OuterRef("pk"), ended=False).order_by().values("job")
    first = waiting.annotate(first=Min("batch__turn")).values("first")
    # What they waited for is cleared, so that `run_pass` does not skip them (`Snooze.since`).
    now = {"look_again": shared_now(), "wait_code": "", "waits_for": ""}
    jobs.update(**now, turn=Coalesce(Subquery(first), "turn"))


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.PROVER_LEASE_SECONDS)


OF_A_QUERY = len(AccountField)  # facts beside its slots; the header's are few


def queries_of_pass(job: BlockJob) -> list[int]:
    """The keys of the queries of one pass: about as many facts as the largest batch has."""
    # One account more than the largest batch has, because it may ask for its header as well.
    room = (settings.BATCH_ACCOUNTS + 1) * OF_A_QUERY + settings.BATCH_SLOTS
    rows = Query.objects.filter(job=job, ended=False).order_by("batch__turn", "pk")
    keys: list[int] = []
    for key, slots in rows.values_list("pk", "slot_count")[: room // OF_A_QUERY]:
        room -= OF_A_QUERY + slots
        if keys and room < 0:
            break
        keys.append(key)
    return sorted(keys)
