"""A worker claims due rows, works on them, and stores what it found and the outcome.

One database transaction stores both and releases the row, if this worker still has the lease.
Findings are stored even if a later stage fails. Locks are taken in one order, as everywhere:
batches, jobs, queries.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db import close_old_connections, transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.database_state import OUTAGE_ERRORS, describe_outage
from queries import transitions
from queries.chain.errors import ChainError, InvalidAnswersError
from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.database.leases import (
    Lease,
    LeaseLostError,
    Retry,
    Snooze,
    Wait,
    claim,
    claim_one,
    query_ids_of_pass,
)
from queries.deliveries.send import work_on
from queries.models import Batch, BlockJob, Delivery, LeasedRow, Proof, Query, Share, WebhookPost
from queries.prover.context import Attach, DeliverOnly, Findings, Outcome, ProverContext, Reject
from queries.prover.job_pass import run_pass
from queries.prover.prove import ReadyJob, send_group
from queries.prover.resolve import resolve
from queries.proving.errors import ProofError
from queries.statuses import DeliveryState
from queries.transactions.costs import lock_batches
from queries.transactions.lane import ConcurrentProverError
from queries.transitions import Failure, JobPrunedError
from queries.wait_reasons import EXEMPT_FROM_MAX_AGE, Reason, WaitCode
from queries.webhooks.posts import claim_post, make_attempt

log = logging.getLogger("tacitus.prover")

AnyLease = Lease[Batch] | Lease[BlockJob] | Lease[Delivery] | Lease[WebhookPost]
OnClaim = Callable[[], object]  # called after a claim, so that another thread may look for work


def work_once(context: ProverContext, on_claim: OnClaim = lambda: None) -> bool:
    """Work on a due batch, a due job and a due delivery. Returns whether any was due."""
    batch = claim_one(Batch.objects.all())
    if batch is not None:
        on_claim()
        with _reschedule_on_error([batch], context.limits):
            release(batch, resolve(batch, context), context.limits)
    job = claim_one(BlockJob.objects.all())
    if job is not None:
        on_claim()
        _work_on_jobs(job, context)
    delivery = claim_one(Delivery.objects.all())
    if delivery is not None:
        on_claim()
        with _reschedule_on_error([delivery], context.limits):
            release(delivery, _work_on_delivery(delivery, context), context.limits)
    return any((batch, job, delivery))


def _work_on_delivery(lease: Lease[Delivery], context: ProverContext) -> Outcome:
    destination = lease.row.batch.destination
    if destination not in context.routes.chains:
        pause = timedelta(seconds=context.limits.max_retry_delay)
        return Snooze(WaitCode.DESTINATION_REMOVED.reason, pause)
    context.rotate(lease.row.failures, destination)
    return work_on(lease, context.lane(destination), context)


def post_once(limits: Limits, on_claim: OnClaim = lambda: None) -> bool:
    """Post one due webhook. Returns whether there was one."""
    post = claim_post()
    if post is None:
        return False
    on_claim()
    with _reschedule_on_error([post], limits):
        release(post, make_attempt(post), limits)
    return True


def _work_on_jobs(first_lease: Lease[BlockJob], context: ProverContext) -> None:
    """Run a pass over the job, and prove it together with other ready jobs of its route."""
    groups: dict[object, list[ReadyJob]] = {}
    for ready_job in _gather_ready_jobs(first_lease, context):
        groups.setdefault(ready_job.group_key, []).append(ready_job)
    for group in groups.values():
        leases = [ready_job.job_pass.lease for ready_job in group]
        with _reschedule_on_error(leases, context.limits):
            outcomes = send_group(group)
            for lease in leases:
                _release_job(lease, outcomes[lease.row.pk], context)


def _gather_ready_jobs(first_lease: Lease[BlockJob], context: ProverContext) -> list[ReadyJob]:
    """Return jobs to prove together: a full transaction, or those ready within `gather_seconds`."""
    limits, job = context.limits, first_lease.row
    deadline = time.monotonic() + limits.gather_seconds
    ready_jobs, seen_jobs = list[ReadyJob](), set[int]()
    jobs_of_route = BlockJob.objects.filter(source=job.source, destination=job.destination)
    lease: Lease[BlockJob] | None = first_lease
    while lease is not None:
        seen_jobs.add(lease.row.pk)
        if ready_job := _run_and_store_pass(lease, context):
            ready_jobs.append(ready_job)
        if not ready_jobs or time.monotonic() > deadline:
            break
        # Other jobs of the route may need the same preparation, so it is sent at once.
        is_preparing = any(ready_job.preparation for ready_job in ready_jobs)
        max_gas = context.chain(job.destination).gas_rules.items_gas
        if is_preparing or sum(ready_job.gas for ready_job in ready_jobs) > max_gas:
            break
        # Without `exclude`, a job that was just snoozed could be claimed again.
        lookahead = timedelta(seconds=limits.initial_retry_delay)
        lease = claim_one(jobs_of_route.exclude(pk__in=seen_jobs), lookahead=lookahead)
    return ready_jobs


def _run_and_store_pass(lease: Lease[BlockJob], context: ProverContext) -> ReadyJob | None:
    """Run a pass, store what it found, and release the job unless it is ready to be proven.

    The findings of a ready job are stored before it is proven: its header has to be pinned before
    its proofs are paid for, and pages show its step while other jobs are gathered.
    """
    findings = Findings(lease)
    with _reschedule_on_error([lease], context.limits, findings):
        result = run_pass(lease, context, findings)
        if isinstance(result, ReadyJob):
            store_findings(findings)
            return result
        _release_job(lease, result, context, findings)
    return None


def _release_job(
    lease: Lease[BlockJob],
    outcome: Outcome,
    context: ProverContext,
    findings: Findings | None = None,
) -> None:
    if isinstance(outcome, Snooze) and outcome.head_hash is not None:
        delay = context.delay_until_next_block(lease.row, outcome.head_hash)
        outcome = replace(outcome, delay=delay)
    release(lease, outcome, context.limits, findings)


@contextmanager
def _reschedule_on_error(
    leases: Sequence[AnyLease], limits: Limits, findings: Findings | None = None
) -> Iterator[None]:
    """Make these rows due again if the `with` body raises, and store its findings so far.

    If the database is gone, making them due raises too, and their leases expire.
    """
    row_names = ", ".join(str(lease.row) for lease in leases)
    is_failure = True
    try:
        yield
    except (LeaseLostError, ConcurrentProverError, JobPrunedError):  # a concurrent process won
        reason, is_failure = WaitCode.CONCURRENT_PROVER.reason, False
    except (ChainError, ProofError) as error:
        log.warning("Will retry %s: %s", row_names, error)
        code = error.code if isinstance(error, ChainError) else InvalidAnswersError.code
        reason = Reason(code, str(error))
    except OUTAGE_ERRORS as error:
        log.error(describe_outage(error))  # noqa: TRY400
        reason, findings = WaitCode.DATABASE_UNAVAILABLE.reason, None
        close_old_connections()  # a new one may succeed
    except Exception:
        log.exception("Unexpected error while working on %s.", row_names)
        reason = WaitCode.INTERNAL_ERROR.reason
        findings = None  # storing them may have been the error
    else:
        return
    for lease in leases:
        wait = Retry(reason, lease.row.failures + 1) if is_failure else Snooze(reason)
        with suppress(LeaseLostError):
            release(lease, wait, limits, findings)


def store_findings(findings: Findings) -> None:
    """Store what the pass found. Raises `LeaseLostError` if another worker has the job now."""
    lease, job = findings.lease, findings.lease.row
    if findings == Findings(lease):
        return
    open_queries = Query.objects.filter(job=job, has_ended=False)
    with transaction.atomic():
        # With the batches and the job locked, nothing else changes these queries.
        rows = Batch.objects.filter(pk__in=open_queries.values("batch")).order_by("pk")
        batch_ids = list(rows.select_for_update(no_key=True).values_list("pk", flat=True))
        lease.extend()
        if header := findings.header:
            # Queries of a block that was replaced: others may have proven their facts, so that no
            # transaction of ours is undone.
            replaced = BlockJob.objects.filter(pk=job.pk).exclude(
                block_hash__in=("", header.hash.hex())
            )
            if replaced.exists():
                transitions.reopen_queries(replaced)
            lease.owned_rows().update(header=header.rlp, block_hash=header.hash.hex())
        if findings.not_final_since:
            batches = Batch.objects.filter(pk__in=batch_ids, not_final_since=None)
            batches.update(not_final_since=findings.not_final_since)
        if findings.reached:
            queries = open_queries.filter(batch__in=batch_ids)
            transitions.reach(queries, findings.reached, findings.header_transaction)
        Proof.objects.bulk_create(findings.proofs)
        if findings.proven_queries:
            transitions.finish(job, findings.proven_queries, findings.words)


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
        elif isinstance(outcome, DeliverOnly):
            lease.extend()
            transitions.deliver_only(str(lease.row.pk))
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
    """Release the row until the wait is over. If its batches have become too old, reject them; an
    unsent delivery that has waited as long fails.
    """
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
        if isinstance(row, Delivery) and _is_unsent_beyond_max_age(row, limits):
            transitions.end_delivery(
                Lease(row, lease.token), DeliveryState.FAILED, reason.code, reason.sentence
            )
            lease.close()
            return
        old_queries = _queries_beyond_max_age(row, limits)
        if old_queries:
            step = transitions.first_open_step(old_queries)
            failure = Failure(reason.code, reason.sentence, step, retryable=True)
            _reject(lease, Reject.create(list(old_queries), failure))
    lease.reschedule(
        pause, reason, failures=attempts, counts_towards_max_age=counts_towards_max_age
    )


def _is_unsent_beyond_max_age(row: Delivery, limits: Limits) -> bool:
    cutoff = shared_now() - timedelta(seconds=limits.batch_max_age)
    # Read again: this pass may have signed its transaction.
    rows = Delivery.objects.filter(pk=row.pk, transaction=None, provable_since__lte=cutoff)
    return rows.exists()


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
