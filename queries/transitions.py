"""The only writer of a status or state, and of a step's times.

Every update is guarded: a step completes once, and an ended batch stays as it ended. So does a
query, unless a reorg removes its facts.

Rows are locked batches before jobs before queries, in the order of their keys, to avoid deadlocks.
Locks are `no_key`, because PostgreSQL checks foreign keys at COMMIT, when it is too late for an
order; only deleting a row conflicts with those checks.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from ulid import ULID

from queries.chain import ChainError
from queries.database import statistics, stored_facts
from queries.database.clock import shared_now
from queries.database.leases import NOT_DUE, ConcurrentWorkError, Lease, make_due
from queries.facts import fact_count, facts_of, subject
from queries.models import (
    IS_BLOCK_QUERY,
    Batch,
    BlockJob,
    Delivery,
    Feed,
    FeedRun,
    Query,
    SentTransaction,
    WebhookPost,
)
from queries.proving.facts import BlockFact
from queries.statuses import (
    ENDED_STATUSES,
    OPEN_DELIVERIES,
    BatchStatus,
    DeliveryState,
    FeedState,
    StepName,
)

log = logging.getLogger("tacitus.prover")

STEPS = list(StepName)
# Of queries with an account, and without.
LAST_STEPS = {True: StepName.ACCOUNT_ACCUMULATED, False: StepName.HEADER_ACCUMULATED}


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason of a rejection, for the batch's owner."""

    code: str
    sentence: str
    step: StepName
    retryable: bool

    @classmethod
    def from_error(cls, error: ChainError, step: StepName = StepName.INITIAL_STATE) -> Self:
        return cls(error.code, error.sentence, step, error.retryable)

    @property
    def columns(self) -> Mapping[str, object]:
        """The columns of a batch that store it."""
        return {
            "error_code": self.code,
            "error_sentence": self.sentence[:1_000],
            "error_step": self.step,
            "error_retryable": self.retryable,
        }


def reject(
    batch_ids: Iterable[str], failure: Failure, failed_queries: Iterable[Query] | None = None
) -> None:
    """End these batches as REJECTED, with their queries.

    `failed_queries`: those that cannot be proven; by default, all open ones. A DONE batch keeps its
    status: a reorg removed facts of it, and these queries fail.
    """
    with transaction.atomic():
        all_ids = list(batch_ids)
        rows = Batch.objects.filter(pk__in=all_ids).order_by("pk").select_for_update(no_key=True)
        statuses = dict(rows.values_list("pk", "status"))
        open_ids = [key for key, status in statuses.items() if status not in ENDED_STATUSES]
        queries = Query.objects.filter(batch__in=all_ids, has_ended=False)
        list(queries.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        if failed_queries is not None:
            queries = queries.filter(pk__in=[query.pk for query in failed_queries])
        now = shared_now()
        Batch.objects.filter(pk__in=open_ids).update(
            status=BatchStatus.REJECTED, ended_at=now, due_at=None, **failure.columns
        )
        queries.filter(batch__in=open_ids).update(failed=True)
        _remove_lost_facts(queries.exclude(batch__in=open_ids), failure)
        Query.objects.filter(batch__in=open_ids).update(has_ended=True)
        Delivery.objects.filter(batch__in=open_ids).update(
            state=DeliveryState.FAILED,
            ended_at=now,
            error_code=failure.code,
            error_sentence="The batch was rejected.",
        )
        _create_webhooks(open_ids)
        for key in open_ids:
            log.info("Batch %s is REJECTED: %s", key, failure.sentence)
        statistics.add_counts(now, {statistics.REJECTED: len(open_ids)})


def _remove_lost_facts(queries: QuerySet[Query], failure: Failure) -> None:
    """End queries of DONE batches as failed, and store the reason with their batches."""
    batch_ids = sorted(set(queries.values_list("batch", flat=True)))
    if not batch_ids:
        return
    Batch.objects.filter(pk__in=batch_ids).update(**failure.columns)
    queries.exclude(IS_BLOCK_QUERY).update(account_accumulated_completed_at=None)
    queries.filter(IS_BLOCK_QUERY).update(header_accumulated_completed_at=None)
    queries.update(failed=True, has_ended=True)
    log.error(
        "Giving up on facts that a reorg removed from DONE batches %s: %s",
        ", ".join(batch_ids),
        failure.sentence,
    )


def reopen_queries(jobs: QuerySet[BlockJob]) -> None:
    """Reopen the proven queries of these jobs, because a reorg may have removed their facts."""
    queries = Query.objects.filter(job__in=jobs, has_ended=True, failed=False)
    queries = queries.exclude(batch__status=BatchStatus.REJECTED)
    list(queries.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    queries.update(has_ended=False)
    stored_facts.mark_unproven(jobs)


def reach(
    queries: QuerySet[Query],
    times: Mapping[StepName, datetime],
    header_transaction: SentTransaction | None = None,
) -> None:
    """Begin the last of these steps and complete those before it, unless it has begun already.

    `times`: when the block was found at a step. ACCEPTED batches become IN_PROGRESS. Queries of
    header fields have no step after HEADER_ACCUMULATED, so they stay in it. `header_transaction`:
    the transaction that proved the header.
    """
    step = max(times, key=STEPS.index)
    if step is StepName.ACCOUNT_ACCUMULATED:
        header_times = {StepName.HEADER_ACCUMULATED: times[step], **times}
        del header_times[step]
        reach(queries.filter(account=""), header_times)
        queries = queries.exclude(account="")
    rows = queries.filter(**{f"{step.began_column}__isnull": True}, has_ended=False)
    batch_ids = list(rows.values_list("batch", flat=True).distinct())
    if not batch_ids:
        return
    moment = times[step]
    changes: dict[str, object] = {step.began_column: moment}
    for earlier_step in reversed(STEPS[: STEPS.index(step)]):
        completed_column, began_column = earlier_step.completed_column, earlier_step.began_column
        changes[completed_column] = Coalesce(F(completed_column), moment)
        moment = times.get(earlier_step, moment)
        changes[began_column] = Coalesce(F(began_column), moment)
    if header_transaction is not None:
        changes["header_transaction"] = header_transaction
    rows.update(**changes)
    Batch.objects.filter(pk__in=batch_ids, status=BatchStatus.ACCEPTED).update(
        status=BatchStatus.IN_PROGRESS
    )


def _completion_updates(steps: Sequence[StepName], moment: datetime) -> dict[str, object]:
    """The values that begin and complete these steps; times that are set already stay."""
    columns = [name for step in steps for name in (step.began_column, step.completed_column)]
    return {name: Coalesce(F(name), moment) for name in columns}


def finish(job: BlockJob, query_ids: Collection[int], words: Mapping[BlockFact, bytes]) -> None:
    """End these queries of the job, because all their facts were read back, with these words; and
    batches without open queries.
    """
    with transaction.atomic():
        corrected_batches = _corrected_batches(job, words)
        rows = Query.objects.filter(pk__in=query_ids, has_ended=False).select_for_update(
            of=("self",), no_key=True
        )
        # Batches are locked before their queries, as in `reject`. Without the lock, two jobs that
        # end a batch's last two queries at once would both see an open query and not end the batch.
        keys = Batch.objects.filter(queries__in=query_ids).distinct().values("pk")
        batches = Batch.objects.filter(Q(pk__in=keys) | Q(pk__in=corrected_batches)).order_by("pk")
        list(batches.select_for_update(no_key=True).values_list("pk", flat=True))
        queries = list(rows.order_by("pk"))
        now, counts = shared_now(), Counter[str]()
        stored_facts.set_words(queries, words, now)
        for has_account, last_step in LAST_STEPS.items():
            ended = [query for query in queries if bool(query.account) is has_account]
            columns = _completion_updates(STEPS[: STEPS.index(last_step) + 1], now)
            Query.objects.filter(pk__in=[query.pk for query in ended]).update(
                has_ended=True, **columns
            )
            # Others were counted before a reorg reopened them.
            first_time = [q for q in ended if getattr(q, last_step.completed_column) is None]
            counts[statistics.FACTS] += sum(map(fact_count, first_time))
        route_key = statistics.route_facts_key(job.source, job.destination)
        counts[route_key] = counts[statistics.FACTS]
        durations = _end_batches({query.batch_id for query in queries}, now)
        # A webhook without a body was not sent yet, and will be sent with the new facts.
        posts = WebhookPost.objects.filter(batch__in=corrected_batches, correction=None)
        _create_posts(posts.exclude(body=b"").values_list("batch", "owner", "pk"))
        statistics.add_counts(now, {**counts, **statistics.done_batch_counts(durations)})


def _corrected_batches(job: BlockJob, words: Mapping[BlockFact, bytes]) -> set[str]:
    """The DONE batches that a reorg reopened, and that had other words of these facts before."""
    reopened_queries = Query.objects.filter(
        job=job, has_ended=False, batch__status=BatchStatus.DONE
    )
    stored_words = stored_facts.stored_words(job) if reopened_queries.exists() else {}
    return {
        query.batch_id
        for query in reopened_queries
        for fact in facts_of(query).values()
        if fact in words and stored_words.get((subject(query, fact), fact.name)) != words[fact]
    }


def _end_batches(batch_ids: set[str], moment: datetime) -> list[timedelta]:
    """End batches without open queries as DONE. Returns how long each of them took."""
    open_queries = Query.objects.filter(batch__in=batch_ids, has_ended=False).values("batch")
    batches = Batch.objects.filter(~Q(pk__in=open_queries), pk__in=batch_ids).exclude(
        status__in=ENDED_STATUSES
    )
    rows = list(batches.values_list("pk", "submitted_at", "delivery_count"))
    times = {batch_id: submitted_at for batch_id, submitted_at, _ in rows}
    Batch.objects.filter(pk__in=times).update(status=BatchStatus.DONE, ended_at=moment, due_at=None)
    delivering = [batch_id for batch_id, _, count in rows if count]
    Delivery.objects.filter(batch__in=delivering, position=0).update(due_at=moment)
    # Others have theirs after their deliveries.
    _create_webhooks([batch_id for batch_id, _, count in rows if not count])
    for batch_id in times:
        log.info("Batch %s is DONE.", batch_id)
    return [moment - start_time for start_time in times.values()]


def _create_webhooks(batch_ids: list[str]) -> None:
    """Create the webhooks in the database transaction that ends these batches."""
    batches = Batch.objects.filter(pk__in=batch_ids).exclude(webhook_url="")
    _create_posts((*ids, None) for ids in batches.values_list("pk", "owner"))


def _create_posts(rows: Iterable[tuple[str, int, str | None]]) -> None:
    """Create a webhook for each tuple of batch, owner and the event that it corrects."""
    now = shared_now()
    WebhookPost.objects.bulk_create(
        WebhookPost(
            id=str(ULID()), batch_id=batch, owner_id=owner, corrects_id=corrects, created_at=now,
            due_at=now,
        )
        for batch, owner, corrects in rows
    )  # fmt: skip


def deliver_only(batch_id: str) -> None:
    """End a batch that proves nothing as DONE, so that its deliveries begin."""
    with transaction.atomic():
        list(Batch.objects.filter(pk=batch_id).select_for_update(no_key=True))
        now = shared_now()
        step = StepName.INITIAL_STATE
        Query.objects.filter(batch=batch_id, has_ended=False).update(
            has_ended=True, **_completion_updates([step], now)
        )
        _end_batches({batch_id}, now)


def mark_delivery_sent(lease: Lease[Delivery], row: SentTransaction) -> None:
    """Store the delivery's transaction, and the gas that it gives to the contract."""
    gas = lease.row.gas
    lease.owned_rows().update(transaction=row, state=DeliveryState.SENT, gas=gas)


def mark_delivery_refused(lease: Lease[Delivery], refusals: int) -> None:
    """Have the delivery wait for its next attempt."""
    lease.owned_rows().update(refusals=refusals, transaction=None, state=DeliveryState.WAITING)


def begin_next_delivery(delivery: Delivery) -> None:
    """Make the batch's next delivery due, unless it was before."""
    Delivery.objects.filter(
        batch=delivery.batch_id,
        position=delivery.position + 1,
        state=DeliveryState.WAITING,
        due_at=None,
    ).update(due_at=shared_now())


def end_delivery(
    lease: Lease[Delivery], state: DeliveryState, code: str = "", sentence: str = ""
) -> None:
    """End the delivery in this state, for this reason, and begin the next one. After the last one,
    the batch's webhook is sent; a reorg that changes how a delivery ended makes another one.
    """
    delivery = lease.row
    with transaction.atomic():
        list(Batch.objects.filter(pk=delivery.batch_id).select_for_update(no_key=True))
        lease.extend()
        lease.owned_rows().update(
            state=state, ended_at=shared_now(), error_code=code, error_sentence=sentence[:1_000]
        )
        log.info("Delivery %s of batch %s is %s.", delivery.position, delivery.batch_id, state)
        begin_next_delivery(delivery)
        open_rows = Delivery.objects.filter(batch=delivery.batch_id, state__in=OPEN_DELIVERIES)
        if open_rows.exists():
            return
        earlier = WebhookPost.objects.filter(batch=delivery.batch_id)
        if not earlier.exists():
            _create_webhooks([delivery.batch_id])
            return
        if state is DeliveryState.DELIVERED:  # as it had ended before a reorg
            return
        # One without a body was not sent yet, and will be sent with the new state.
        last_ones = earlier.filter(correction=None).exclude(body=b"")
        _create_posts(last_ones.values_list("batch", "owner", "pk"))


def reopen_deliveries(row: SentTransaction) -> None:
    """Follow the deliveries of this transaction again, because a reorg removed it."""
    Delivery.objects.filter(transaction=row, state=DeliveryState.DELIVERED).update(
        state=DeliveryState.SENT, ended_at=None
    )
    Delivery.objects.filter(transaction=row).update(due_at=shared_now())


def pause_feed(feed: Feed, reason: str) -> None:
    """Pause a feed that cannot go on, and create its webhook."""
    _pause(feed, reason)
    if feed.webhook:
        now = shared_now()
        WebhookPost.objects.create(
            id=str(ULID()), feed=feed, owner=feed.owner, created_at=now, due_at=now
        )


def pause_feed_by_owner(feed: Feed) -> None:
    _pause(feed, "Its owner paused it.")


def _pause(feed: Feed, reason: str) -> None:
    """Pause the feed, and keep its runs that wait until it is resumed."""
    rows = Feed.objects.filter(pk=feed.pk)
    _change_feeds(rows, FeedState.PAUSED, reason, waits_for="", next_attempt_at=None)
    waiting = FeedRun.objects.filter(feed=feed, submitted_at=None)
    waiting.update(due_at=None, waits_for="", wait_code="")


def resume_feed(feed: Feed) -> None:
    rows = Feed.objects.filter(pk=feed.pk)
    _change_feeds(rows, FeedState.ACTIVE, "", resumed_at=shared_now())


def end_feeds(feeds: QuerySet[Feed], reason: str) -> None:
    _change_feeds(feeds, FeedState.ENDED, reason, waits_for="")


def _change_feeds(feeds: QuerySet[Feed], state: FeedState, reason: str, **columns: object) -> None:
    for feed_id in feeds.values_list("pk", flat=True):
        log.info("Feed %s is %s: %s", feed_id, state, reason)
    feeds.update(state=state, reason=reason[:1_000], **columns)


class JobPrunedError(ConcurrentWorkError):
    """Pruning has just deleted a job of the batch; the next pass creates it again."""


def attach(leases: Sequence[Lease[Batch]]) -> None:
    """Attach batches of one destination to the jobs for their blocks, mark them ACCEPTED and take
    them off the queue.

    The jobs may serve other batches already. Rows are locked in one order, batches before jobs
    before queries.
    """
    destination, batch_ids = leases[0].row.destination, [lease.row.pk for lease in leases]
    batches = Batch.objects.filter(
        pk__in=batch_ids, lease_token__in={lease.token for lease in leases}
    )
    with transaction.atomic():
        locked_ids = [batch.pk for batch in batches.order_by("pk").select_for_update(no_key=True)]
        queries = Query.objects.filter(batch__in=locked_ids, has_ended=False)
        pairs = queries.values_list("source", "block").order_by("source", "block").distinct()
        blocks = [(source, block) for source, block in pairs if block is not None]
        BlockJob.objects.bulk_create(
            [BlockJob(source=source, destination=destination, block=n) for source, n in blocks],
            ignore_conflicts=True,
        )
        jobs = BlockJob.objects.filter(
            destination=destination,
            source__in={source for source, _ in blocks},
            block__in={block for _, block in blocks},
        )
        rows = jobs.order_by("pk").select_for_update(no_key=True)
        if not set(blocks) <= set(rows.values_list("source", "block")):
            raise JobPrunedError
        list(queries.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        job = BlockJob.objects.filter(
            source=OuterRef("source"), destination=destination, block=OuterRef("block")
        )
        unattached_queries = queries.filter(job=None).exclude(block=None)
        unattached_queries.update(job=Subquery(job.values("pk")[:1]))
        stored_facts.add(queries.exclude(job=None))
        # For all of their jobs: a worker that died here may have attached some already.
        make_due(jobs.filter(Exists(queries.filter(job=OuterRef("pk")))))
        batches.filter(status=BatchStatus.RECEIVED).update(status=BatchStatus.ACCEPTED)
        batches.update(**NOT_DUE)


def first_open_step(queries: QuerySet[Query]) -> StepName:
    """The first step that one of these queries has not completed; otherwise the last step."""
    return next(
        (
            step
            for step in STEPS
            if queries.filter(**{f"{step.completed_column}__isnull": True}).exists()
        ),
        STEPS[-1],
    )
