"""A worker claims due rows, works on them, and stores the outcome."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from queries.chain.errors import ChainError, InvalidAnswersError
from queries.config.limits import Limits
from queries.database.leases import Lease, LeaseLostError, Retry, Snooze, claim_one
from queries.models import Batch, BlockJob
from queries.prover.context import ProverContext
from queries.prover.job_pass import run_pass
from queries.prover.outcomes import AnyLease, Findings, Outcome, release, store_findings
from queries.prover.prove import ReadyJob, prove
from queries.prover.resolve import resolve
from queries.proving.errors import ProofError
from queries.transactions.lane import ConcurrentProverError
from queries.transitions import JobPrunedError
from queries.wait_reasons import Reason, WaitCode
from queries.webhooks.deliver import claim_delivery, deliver

log = logging.getLogger("tacitus.prover")

OnClaim = Callable[[], object]  # called after a claim, so that another thread may look for work


def work_once(context: ProverContext, on_claim: OnClaim = lambda: None) -> bool:
    """Resolve a due batch, then work on a due job. Returns whether either was due."""
    batch = claim_one(Batch.objects.all())
    if batch is not None:
        on_claim()
        with _reschedule_on_error([batch], context.limits):
            release(batch, resolve(batch, context), context.limits)
    job = claim_one(BlockJob.objects.all())
    if job is not None:
        on_claim()
        _work_on_jobs(job, context)
    return batch is not None or job is not None


def deliver_once(limits: Limits, on_claim: OnClaim = lambda: None) -> bool:
    """Deliver one due webhook. Returns whether there was one."""
    delivery = claim_delivery()
    if delivery is None:
        return False
    on_claim()
    with _reschedule_on_error([delivery], limits):
        release(delivery, deliver(delivery), limits)
    return True


def _work_on_jobs(first_lease: Lease[BlockJob], context: ProverContext) -> None:
    """Run a pass over the job, and prove it together with other ready jobs of its route."""
    groups: dict[object, list[ReadyJob]] = {}
    for ready_job in _gather_ready_jobs(first_lease, context):
        groups.setdefault(ready_job.group_key, []).append(ready_job)
    for group in groups.values():
        leases = [ready_job.job_pass.lease for ready_job in group]
        with _reschedule_on_error(leases, context.limits):
            outcomes = prove(group)
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
        if ready_job := _run_pass(lease, context):
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


def _run_pass(lease: Lease[BlockJob], context: ProverContext) -> ReadyJob | None:
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
    """Make these rows due again if the `with` body raises, and store its findings so far."""
    row_names, is_failure = ", ".join(str(lease.row) for lease in leases), True
    try:
        yield
    except (LeaseLostError, ConcurrentProverError, JobPrunedError):  # a concurrent process won
        reason, is_failure = WaitCode.CONCURRENT_PROVER.reason, False
    except (ChainError, ProofError) as error:
        log.warning("Will retry %s: %s", row_names, error)
        code = error.code if isinstance(error, ChainError) else InvalidAnswersError.code
        reason = Reason(code, str(error))
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
