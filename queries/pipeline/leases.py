"""Who works on what: a row is claimed by a guarded UPDATE, for a time, with a token.

A worker that dies lets its lease run out, and the next one that looks takes the row over. What
the first one writes afterwards, should it live on, carries a token that is no longer the row's.
"""

import itertools
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import LessThanOrEqual

from queries.batch_turns import turn_of_job
from queries.models import (
    Batch,
    BlockJob,
    InTurn,
    Leased,
    Query,
    TransactionOfJob,
    WebhookDelivery,
    WebhookTurn,
)
from queries.pipeline.clock import shared_now
from queries.wait_reasons import Reason

Row = TypeVar("Row", bound=Leased)
Due = TypeVar("Due", bound=InTurn)

LONGEST_DUE_EVERY = 4  # claims
IN_OTHER_HANDS = 0.25  # seconds
A_LITTLE = timedelta(seconds=30)
TURNS_TOGETHER = timedelta(seconds=5)  # some twenty batches of one account, or a hundred queries
_claims: dict[type[Leased], Iterator[int]] = defaultdict(lambda: itertools.count(1))

_IS_SETTLED = ~Exists(Query.objects.filter(batch=OuterRef("pk"), job=None, ended=False))


class LeaseLost(Exception):  # noqa: N818
    """Another worker has the row now: nothing more is to be done or written."""


@dataclass(frozen=True, slots=True)
class Lease(Generic[Row]):
    """A claimed row, and the token that writing to it takes."""

    row: Row
    token: str
    # Those of rows that wait in the same hands, and are kept with it.
    beside: tuple["Lease[Row]", ...] = ()
    asked: set[int] = field(default_factory=set)  # chains whose nodes this look asks

    def held(self) -> QuerySet[Row]:
        """The row, as long as it is ours."""
        rows: QuerySet[Row] = type(self.row)._default_manager.filter(  # noqa: SLF001
            pk=self.row.pk, lease_token=self.token
        )
        return rows

    def keep(self) -> None:
        """Go on for as long again; before each step that others can see."""
        until = shared_now() + _lease()
        if not self.held().update(lease_until=until):
            raise LeaseLost
        for each in self.beside:
            each.held().update(lease_until=until)  # where one is lost, its own next step says so

    def look_again(
        self,
        after: timedelta,
        why: Reason | None = None,
        *,
        failures: int = 0,
        heard: Sequence[tuple[str, Sequence[int]]] | None = None,
    ) -> None:
        """`heard`: by the looks up to now, where this was one."""
        self.held().update(
            lease_token="",
            lease_until=None,
            look_again=shared_now() + after,
            waits_for=why.sentence[:300] if why else "",
            wait_code=why.code if why else "",
            failures=failures,
            heard=self.row.heard if heard is None else heard,
            looks=self.row.looks + int(heard is not None),
        )

    def close(self) -> None:
        """Nobody needs to look again; a job only where no query was added meanwhile, and a batch
        where none of its queries lost its job.

        Nor as long as a transaction of it may change: one that is dropped and not sent again would
        hold up all that have the nonces after it.
        """
        with transaction.atomic():
            # Locked first: who adds a query now writes to the row afterwards, and finds it closed.
            self.held().select_for_update().first()
            rows = self.held()
            if isinstance(self.row, BlockJob):
                waiting = Query.objects.filter(job=OuterRef("pk"), ended=False)
                changing = TransactionOfJob.objects.filter(
                    job=OuterRef("pk"), transaction__settled=False
                )
                rows = rows.filter(~Exists(waiting), ~Exists(changing))
            if isinstance(self.row, Batch):
                rows = rows.filter(_IS_SETTLED)
            if not _close(rows):
                self.look_again(timedelta(0), heard=())
            elif isinstance(self.row, BlockJob):
                # Nobody looks at it again, and its chain may yet put another block in its place.
                _forget_unproven_header(BlockJob.objects.filter(pk=self.row.pk, look_again=None))


def _forget_unproven_header(jobs: QuerySet[BlockJob]) -> None:
    """Not where something of the block was proven: whoever asks for that proof needs it."""
    proven = Query.objects.filter(job=OuterRef("pk"), values__isnull=False)
    kept = jobs.exclude(header=b"", block_hash="")
    kept.filter(~Exists(proven)).update(header=b"", block_hash="")


def _close(rows: QuerySet[Row], look_again: datetime | None = None) -> int:
    return rows.update(
        lease_token="",
        lease_until=None,
        look_again=look_again,
        waits_for="",
        wait_code="",
        heard=[],
    )


def close_batches(held: QuerySet[Batch]) -> None:
    """Several, as one is; in the transaction that has them locked."""
    _close(held.filter(_IS_SETTLED))
    _close(held, look_again=shared_now())


def claim_batch() -> Lease[Batch] | None:
    return _claim_in_turn(Batch.objects.all())


def claim_turn() -> Lease[WebhookTurn] | None:
    return _claim(WebhookTurn.objects.all())


def claim_delivery(turn: Lease[WebhookTurn]) -> Lease[WebhookDelivery] | None:
    return _claim(WebhookDelivery.objects.filter(owner=turn.row.pk))


def pass_on(turn: Lease[WebhookTurn], pause: timedelta) -> None:
    """To all others whose turn has come by now; after the pause, where more is to be sent."""
    with transaction.atomic():
        # Locked first: who makes a delivery due now gives a turn afterwards.
        turn.held().select_for_update().first()
        to_send = WebhookDelivery.objects.filter(owner=turn.row.pk, look_again__isnull=False)
        due = to_send.order_by("look_again").values_list("look_again", flat=True).first()
        if due is None:
            turn.close()
        else:
            turn.look_again(max(due - shared_now(), pause))


def claim_job(without: Collection[int] = ()) -> Lease[BlockJob] | None:
    """None of those that are left to another thread, but to follow what it has sent."""
    return _claim_in_turn(_jobs(without))


def claim_one_of(jobs: Collection[int]) -> Lease[BlockJob] | None:
    return _claim_in_turn(BlockJob.objects.filter(pk__in=jobs)) if jobs else None


def _jobs(without: Collection[int]) -> QuerySet[BlockJob]:
    if not without:
        return BlockJob.objects.all()
    sent = TransactionOfJob.objects.filter(job=OuterRef("pk"), transaction__settled=False)
    return BlockJob.objects.filter(~Q(pk__in=without) | Exists(sent))


def claim_job_beside(
    job: BlockJob, early: timedelta, seen: Collection[int] = ()
) -> Lease[BlockJob] | None:
    """One that goes the same way, and is due or soon will be; none that was just seen.

    Nor one whose turn comes much later: who asks for little would wait for who asks for most.
    """
    rows = BlockJob.objects.filter(source=job.source, destination=job.destination)
    in_turn = rows.filter(turn__lte=max(job.turn, shared_now()) + TURNS_TOGETHER)
    return _claim(in_turn.exclude(pk__in=seen), early)


def is_before_anothers_turn(job: BlockJob, without: Collection[int] = ()) -> bool:
    """Its own is yet to come, and somebody else's has."""
    now = shared_now()
    if job.turn <= now:
        return False
    come = Q(_free(now), LessThanOrEqual(InTurn.order, now))
    return Batch.objects.filter(come).exists() or _jobs(without).filter(come).exists()


def claim_beside(first: Lease[Batch], alike: QuerySet[Batch], most: int) -> list[Lease[Batch]]:
    """Those alike of the next that are due, under the same token.

    So many at most: those whose turn has come, and those that have been due for longest.
    """
    now = shared_now()
    due = Batch.objects.filter(_free(now), look_again__lte=now).values_list("pk", flat=True)
    come = due.filter(LessThanOrEqual(InTurn.order, now)).order_by(InTurn.order)
    keys = {*come[:most], *due.order_by("look_again")[:most]}
    with transaction.atomic():
        # What another worker is about to claim is left to it.
        free = alike.filter(_free(now), look_again__lte=now, pk__in=keys).order_by(InTurn.order)
        rows = list(free.select_for_update(skip_locked=True)[:most])
        claimed = Batch.objects.filter(pk__in=[row.pk for row in rows])
        claimed.update(lease_token=first.token, lease_until=now + _lease())
    return [Lease(row, first.token) for row in rows]


def _claim_in_turn(rows: QuerySet[Due]) -> Lease[Due] | None:
    """One whose turn has come; where there is none, the one that has been due for longest.

    Now and then that one anyway, whoever's it is: else what is looked at again, and again, would
    leave no time for a backlog whose turns are still to come.
    """
    if next(_claims[rows.model]) % LONGEST_DUE_EVERY:
        # Sought by its index, behind whose end lies all that only waits for its time.
        come = rows.filter(LessThanOrEqual(InTurn.order, shared_now()))
        lease = _claim(come, order=InTurn.order)
        if lease:
            return lease
    return _claim(rows)


def _claim(
    rows: QuerySet[Row], early: timedelta = timedelta(0), order: Combinable | str = "look_again"
) -> Lease[Row] | None:
    """The first row, unless another worker is faster."""
    now = shared_now()
    due = rows.filter(_free(now), look_again__lte=now + early)
    for key in due.order_by(order).values_list("pk", flat=True)[:10]:
        token = secrets.token_hex(16)
        if due.filter(pk=key).update(lease_token=token, lease_until=now + _lease()):
            return Lease(rows.get(pk=key), token)
    return None


def _free(now: datetime) -> Q:
    return Q(lease_until=None) | Q(lease_until__lte=now)


def look_now(rows: QuerySet[Row]) -> None:
    """Have someone look at all of these. They are locked in their order, as all who lock several
    do: else two could wait for each other.
    """
    with transaction.atomic():
        keys = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
        found = rows.model._default_manager.filter(pk__in=keys)  # noqa: SLF001
        found.update(look_again=shared_now())


def look_in_turn(turns: Mapping[int, datetime]) -> None:
    """Have someone look at these jobs, each when who waits for it has its turn; locked as above.

    They are due since then, even if the batch was looked at a little later: it had its turn.
    """
    jobs: dict[datetime, list[int]] = defaultdict(list)
    for job, turn in turns.items():
        jobs[turn].append(job)
    with transaction.atomic():
        ordered = BlockJob.objects.filter(pk__in=turns).order_by("pk")
        list(ordered.select_for_update().values_list("pk", flat=True))
        now = shared_now()
        for turn, keys in jobs.items():
            some = BlockJob.objects.filter(pk__in=keys)
            due = max(min(turn, now), now - A_LITTLE)
            some.update(look_again=due, turn=turn_of_job(turn))


def _lease() -> timedelta:
    return timedelta(seconds=settings.PROVER_LEASE_SECONDS)


def next_look(*kinds: type[Leased], without: Collection[int] = ()) -> float | None:
    """Seconds until something of these kinds is due, if anything is, but for these jobs."""
    return _next_look(
        _jobs(without) if kind is BlockJob else kind._default_manager.all()  # noqa: SLF001
        for kind in kinds
    )


def next_look_at(jobs: Collection[int]) -> float | None:
    return _next_look([BlockJob.objects.filter(pk__in=jobs)]) if jobs else None


def _next_look(all_of_it: Iterable[QuerySet[Any]]) -> float | None:
    """What somebody works on is due soon, and not now: whoever is idle beside it would look again
    and again; and who works on it rings for nobody when there is something else to do then.
    """
    now = shared_now()
    seconds: list[float] = []
    for rows in all_of_it:
        ordered = rows.filter(look_again__isnull=False).order_by("look_again")
        until = ordered.values_list("lease_until", flat=True).first()
        if until and until > now:  # what is leased keeps the time at which it was due
            seconds.append(IN_OTHER_HANDS)
        due = ordered.filter(_free(now)).values_list("look_again", flat=True).first()
        if due:
            seconds.append((due - now).total_seconds())
    return min(seconds, default=None)
