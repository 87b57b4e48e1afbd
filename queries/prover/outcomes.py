"""The findings and the outcome of a pass, which only this module stores.

A pass changes no status. One database transaction stores its findings and its outcome and releases
the row, if this worker still has the lease. Findings are stored even if a later stage fails. Locks
are taken in one order, as everywhere: batches, jobs, queries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from queries import transitions
from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.database.leases import Lease, Retry, Wait, claim, query_ids_of_pass
from queries.models import (
    Batch,
    BlockJob,
    LeasedRow,
    Query,
    SentTransaction,
    Share,
    UnsentProof,
    WebhookDelivery,
)
from queries.proving.headers import Header
from queries.statuses import StepName
from queries.transactions.costs import lock_batches
from queries.transitions import Failure
from queries.wait_reasons import EXEMPT_FROM_MAX_AGE

AnyLease = Lease[Batch] | Lease[BlockJob] | Lease[WebhookDelivery]


@dataclass(frozen=True, slots=True)
class Reject:
    """These batches certainly cannot be proven. The row stays due if other batches wait for it."""

    failures: Mapping[str, Failure]  # by batch id
    queries: Sequence[Query] | None = None  # the failed ones; None: all queries of these batches

    @classmethod
    def create(cls, queries: Sequence[Query], failure: Failure) -> Self:
        return cls({query.batch_id: failure for query in queries}, queries)


@dataclass(frozen=True, slots=True)
class Attach:
    """The batch's blocks and accounts are known: attach it, and similar ones, to their jobs."""

    lease: Lease[Batch]
    similar_batches: QuerySet[Batch]


Outcome = Wait | Reject | Attach | None  # None: nothing is left to do


@dataclass
class Findings:
    """The findings of a pass over a job so far."""

    lease: Lease[BlockJob]
    header: Header | None = None  # pinned from now on
    step: StepName | None = None  # the last one that the block has reached
    header_transaction: SentTransaction | None = None  # it proved the header
    values: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # read back, by query
    unsent_calls: Sequence[bytes] = ()  # would prove the values that others have proven


def store_findings(findings: Findings) -> None:
    """Store what the pass found. Raises `LeaseLostError` if another worker has the job now."""
    lease, job = findings.lease, findings.lease.row
    if findings == Findings(lease):
        return
    open_queries = Query.objects.filter(job=job, has_ended=False)
    with transaction.atomic():
        # With the batches and the job locked, nothing else changes these queries.
        rows = Batch.objects.filter(pk__in=open_queries.values("batch")).order_by("pk")
        batch_ids = list(rows.select_for_update().values_list("pk", flat=True))
        lease.extend()
        if header := findings.header:
            lease.owned_rows().update(header=header.encoded, block_hash=header.hash.hex())
        if findings.step:
            queries = open_queries.filter(batch__in=batch_ids)
            transitions.reach(queries, findings.step, findings.header_transaction)
        UnsentProof.objects.bulk_create(
            UnsentProof(job=job, call=call) for call in findings.unsent_calls
        )
        if findings.values:
            transitions.finish(findings.values)


def release(
    lease: AnyLease, outcome: Outcome, limits: Limits, findings: Findings | None = None
) -> None:
    """Store the outcome of the pass, and release the row."""
    with transaction.atomic():
        if findings:
            store_findings(findings)
        if isinstance(outcome, Attach):
            # In one transaction, so that the others are claimed only if all can be attached.
            others = claim(outcome.similar_batches, settings.BATCH_ACCOUNTS)
            transitions.attach([outcome.lease, *others])
        elif isinstance(outcome, Reject):
            _reject(lease, outcome)
            lease.close()
        elif outcome is None:
            lease.close()
        else:
            _reschedule(lease, outcome, limits)


def _reject(lease: AnyLease, rejection: Reject) -> None:
    lock_batches(rejection.failures)
    lease.extend()  # fails if another worker has the job and may have signed for them
    ids_by_failure: dict[Failure, list[str]] = {}
    for batch_id, failure in rejection.failures.items():
        ids_by_failure.setdefault(failure, []).append(batch_id)
    for failure, batch_ids in ids_by_failure.items():
        transitions.reject(batch_ids, failure, rejection.queries)


def _reschedule(lease: AnyLease, wait: Wait, limits: Limits) -> None:
    """Release the row until the wait is over. Reject its batches if they have become too old."""
    row, reason = lease.row, wait.reason
    attempts = wait.attempts if isinstance(wait, Retry) else 0
    back_off = min(limits.initial_retry_delay * 2 ** min(attempts, 20), limits.max_retry_delay)
    pause = timedelta(seconds=back_off) if wait.delay is None else wait.delay
    is_exempt = reason is not None and reason.code in EXEMPT_FROM_MAX_AGE
    has_unconfirmed_transactions = (
        isinstance(row, BlockJob) and row.transactions.filter(confirmed=False).exists()
    )
    counts_towards_max_age = not is_exempt and not has_unconfirmed_transactions
    if counts_towards_max_age and reason:
        old_queries = _queries_beyond_max_age(row, limits)
        if old_queries:
            step = transitions.first_open_step(old_queries)
            failure = Failure(reason.code, reason.sentence, step, retryable=True)
            _reject(lease, Reject.create(list(old_queries), failure))
    lease.reschedule(
        pause, reason, failures=attempts, counts_towards_max_age=counts_towards_max_age
    )


def _queries_beyond_max_age(row: LeasedRow, limits: Limits) -> QuerySet[Query]:
    """The row's queries that have been provable for `batch_max_age`, except those of batches with
    an unconfirmed transaction.
    """
    cutoff = shared_now() - timedelta(seconds=limits.batch_max_age)
    if row.provable_since is None or row.provable_since > cutoff:
        return Query.objects.none()
    shares = Share.objects.filter(batch=OuterRef("batch"), transaction__confirmed=False)
    queries = Query.objects.filter(
        ~Exists(shares), has_ended=False, batch__submitted_at__lte=cutoff
    )
    if isinstance(row, BlockJob):
        return queries.filter(pk__in=query_ids_of_pass(row))
    return queries.filter(batch=row, job=None) if isinstance(row, Batch) else queries.none()
