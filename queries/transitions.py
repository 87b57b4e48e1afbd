"""The only writer of a status, and of a step's times.

Every update is guarded: an ended batch or query stays as it ended, and a step completes once.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from ulid import ULID

from queries.database import bulk_sql
from queries.database.clock import shared_now
from queries.database.daily_counts import FACTS, REJECTED, count, of_done_batches, of_route
from queries.models import Batch, BlockJob, Query, SentTransaction, WebhookDelivery
from queries.statuses import ENDED, BatchStatus, StepName

log = logging.getLogger("tacitus.prover")

ORDER = list(StepName)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a batch is rejected, for its owner."""

    code: str
    sentence: str
    step: StepName
    retryable: bool


def accept(batches: QuerySet[Batch]) -> None:
    batches.filter(status=BatchStatus.RECEIVED).update(status=BatchStatus.ACCEPTED)


def reject(
    batches: Iterable[str], failure: Failure, failing: Iterable[Query] | None = None
) -> None:
    """End these batches; their queries are no longer worked on.

    `failing`: the queries that cannot be proven; by default, all open ones. A batch that has ended
    keeps its status, and facts of it that a reorg removed are not proven again.
    """
    with transaction.atomic():
        named = list(batches)
        chosen = Batch.objects.filter(pk__in=named).exclude(status__in=ENDED)
        # Locked in the order of their keys, as everywhere, because of deadlocks.
        keys = list(chosen.order_by("pk").select_for_update().values_list("pk", flat=True))
        theirs = Query.objects.filter(batch__in=named, ended=False).order_by("pk")
        list(theirs.select_for_update().values_list("pk", flat=True))
        now = shared_now()
        Batch.objects.filter(pk__in=keys).update(
            status=BatchStatus.REJECTED,
            ended=now,
            error_code=failure.code,
            error_sentence=failure.sentence[:1_000],
            error_step=failure.step,
            error_retryable=failure.retryable,
            look_again=None,
        )
        unproven = Query.objects.filter(batch__in=named, ended=False)
        if failing is not None:
            unproven = unproven.filter(pk__in=[query.pk for query in failing])
        unproven.filter(batch__in=keys).update(failed=True)
        if unproven.exclude(batch__in=keys).update(ended=True):
            log.error("Facts of a DONE batch are not proven again: %s", failure.sentence)
        Query.objects.filter(batch__in=keys).update(ended=True)
        _announce(keys)
        count(now, {REJECTED: len(keys)})


def begin(queries: QuerySet[Query], step: StepName) -> None:
    """Begin the step where it has not begun. Batches that are ACCEPTED become IN_PROGRESS."""
    unbegun = queries.filter(**{f"{step.began}__isnull": True}, ended=False)
    batches = list(unbegun.values_list("batch", flat=True).distinct())
    unbegun.update(**{step.began: shared_now()})
    Batch.objects.filter(pk__in=batches, status=BatchStatus.ACCEPTED).update(
        status=BatchStatus.IN_PROGRESS
    )


def complete(queries: QuerySet[Query], step: StepName, at: SentTransaction | None = None) -> None:
    """Complete the step, and any before it that is not completed yet. Nothing begins here."""
    now = shared_now()
    uncompleted = queries.filter(**{f"{step.completed}__isnull": True}, ended=False)
    times: dict[str, object] = {}
    for each in ORDER[: ORDER.index(step) + 1]:
        for column in (each.began, each.completed):
            times[column] = Coalesce(F(column), now)
    if at is not None and step is StepName.HEADER_ACCUMULATED:
        times["header_transaction"] = at
    uncompleted.update(**times)


def finish(values: Mapping[int, Mapping[str, str]]) -> None:
    """End these queries with the words that were read back, and batches that have no other open."""
    with transaction.atomic():
        rows = Query.objects.filter(pk__in=values, ended=False).select_for_update(of=("self",))
        # Batches are locked before their queries, as in `reject`. The lock also keeps two jobs that
        # end a batch's last two queries at once from each finding the other's query still open.
        batches = Batch.objects.filter(queries__in=values).distinct().values("pk")
        locked = Batch.objects.filter(pk__in=batches).order_by("pk").select_for_update()
        destinations = {batch.pk: batch.destination for batch in locked}
        queries = list(rows.order_by("pk"))
        facts: Counter[str] = Counter()
        corrected = {row.batch_id for row in queries if row.words and row.words != values[row.pk]}
        for query in queries:
            if query.values is None:  # what is proven again after a reorg was counted
                read = len(values[query.pk])
                route = of_route(query.source, destinations[query.batch_id])
                facts.update({FACTS: read, route: read})
            query.keep(values[query.pk])
        bulk_sql.update(queries, ["values", "slot_values"])
        for of_account, last in (
            (True, StepName.ACCOUNT_ACCUMULATED),
            (False, StepName.HEADER_ACCUMULATED),
        ):
            keys = [query.pk for query in queries if bool(query.account) is of_account]
            complete(Query.objects.filter(pk__in=keys), last)
            Query.objects.filter(pk__in=keys).update(ended=True)
        now = shared_now()
        durations = _end_batches({query.batch_id for query in queries}, now)
        # Those whose body is stored and may have arrived; any other is sent as the facts are now.
        sent = WebhookDelivery.objects.filter(batch__in=corrected, correction=None)
        _create_deliveries(sent.exclude(body=b"").values_list("batch", "owner", "pk"))
        count(now, {**facts, **of_done_batches(durations)})


def _end_batches(keys: set[str], moment: datetime) -> list[timedelta]:
    """End batches without open queries as DONE. Returns how long each of them took."""
    open_ones = Query.objects.filter(batch__in=keys, ended=False).values("batch")
    done = Batch.objects.filter(~Q(pk__in=open_ones), pk__in=keys).exclude(status__in=ENDED)
    ended = dict(done.values_list("pk", "submitted"))
    Batch.objects.filter(pk__in=ended).update(
        status=BatchStatus.DONE, ended=moment, look_again=None
    )
    _announce(list(ended))
    return [moment - submitted for submitted in ended.values()]


def _announce(ended: list[str]) -> None:
    """Store their webhook deliveries in the database transaction that ends them."""
    with_webhook = Batch.objects.filter(pk__in=ended).exclude(webhook_url="")
    _create_deliveries((*ids, None) for ids in with_webhook.values_list("pk", "owner"))
    for batch in ended:
        log.info("Batch %s has ended.", batch)


def _create_deliveries(rows: Iterable[tuple[str, int, str | None]]) -> None:
    """Create a delivery for each (batch, owner, event that it corrects)."""
    now = shared_now()
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            id=str(ULID()), batch_id=batch, owner_id=owner, corrects_id=corrects, created=now,
            look_again=now,
        )
        for batch, owner, corrects in rows
    )  # fmt: skip


def attach(batches: Sequence[str], destination: int) -> None:
    """Attach each open query that has a block to the job for that block."""
    jobs = BlockJob.objects.filter(
        source=OuterRef("source"), destination=destination, block=OuterRef("block")
    )
    unattached = Query.objects.filter(batch__in=batches, job=None, ended=False)
    unattached.exclude(block=None).update(job=Subquery(jobs.values("pk")[:1]))


def step_of(queries: QuerySet[Query]) -> StepName:
    """The first step that at least one of these queries has not completed."""
    return next(
        (step for step in ORDER if queries.filter(**{f"{step.completed}__isnull": True}).exists()),
        ORDER[-1],
    )


def open_queries(job: BlockJob) -> QuerySet[Query]:
    return Query.objects.filter(job=job, ended=False)
