"""One pass over what is due: a worker claims rows, works on them, and stores the outcome."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from queries.chain.errors import ChainError, InvalidAnswersError
from queries.config.limits import Limits
from queries.database.leases import Lease, LeaseLostError, Outcome, Retry, Snooze, claim_one
from queries.models import Batch, BlockJob, WebhookDelivery
from queries.prover.context import ProverContext
from queries.prover.job_pass import run_pass
from queries.prover.prove import ReadyJob, prove
from queries.prover.rejections import counts_towards_age, reject_old_batches
from queries.prover.resolve import JobPrunedError, resolve
from queries.proving.errors import ProofError
from queries.transactions.lane import ConcurrentProverError
from queries.wait_reasons import Reason, WaitCode
from queries.webhooks.deliver import claim_delivery, deliver

log = logging.getLogger("tacitus.prover")

OnClaim = Callable[[], object]  # called after a claim: then another thread may look for work
AnyLease = Lease[Batch] | Lease[BlockJob] | Lease[WebhookDelivery]


def work_once(context: ProverContext, on_claim: OnClaim = lambda: None) -> bool:
    """Resolve a due batch, then work on a due job. Returns whether there was any."""
    batch = claim_one(Batch.objects.all())
    if batch is not None:
        on_claim()
        with _reschedule_on_error([batch], context.limits):
            _release(batch, resolve(batch, context), context.limits)
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
        _release(delivery, deliver(delivery), limits)
    return True


def _work_on_jobs(first: Lease[BlockJob], context: ProverContext) -> None:
    """Run a pass over the job, and prove it together with other ready jobs of its route."""
    groups: dict[object, list[ReadyJob]] = {}
    for ready in _gather_ready(first, context):
        groups.setdefault(ready.group_key, []).append(ready)
    for group in groups.values():
        leases = [ready.job_pass.lease for ready in group]
        with _reschedule_on_error(leases, context.limits):
            outcomes = prove(group)
            for lease in leases:
                _release_after_block(lease, outcomes[lease.row.pk], context)


def _gather_ready(first: Lease[BlockJob], context: ProverContext) -> list[ReadyJob]:
    """Jobs to prove together: a full transaction, or those ready within `gather_seconds`."""
    limits, job = context.limits, first.row
    deadline = time.monotonic() + limits.gather_seconds
    ready_jobs, seen_jobs = list[ReadyJob](), set[int]()  # a job that waits is due again soon
    same_route = BlockJob.objects.filter(source=job.source, destination=job.destination)
    lease: Lease[BlockJob] | None = first
    while lease is not None:
        seen_jobs.add(lease.row.pk)
        with _reschedule_on_error([lease], limits):
            result = run_pass(lease, context)
            if isinstance(result, ReadyJob):
                ready_jobs.append(result)
            else:
                _release_after_block(lease, result, context)
        if not ready_jobs or time.monotonic() > deadline:
            break
        room = context.chain(job.destination).gas_rules.items_gas
        if sum(ready.gas for ready in ready_jobs) > room:
            break
        early = timedelta(seconds=limits.initial_retry_delay)
        lease = claim_one(same_route.exclude(pk__in=seen_jobs), early=early)
    return ready_jobs


@contextmanager
def _reschedule_on_error(leases: Sequence[AnyLease], limits: Limits) -> Iterator[None]:
    """Make these rows due again if the `with` body raises."""
    row_names = ", ".join(str(lease.row) for lease in leases)
    try:
        yield
    except (LeaseLostError, ConcurrentProverError, JobPrunedError):  # a concurrent process won
        for lease in leases:
            _release(lease, Snooze(WaitCode.CONCURRENT_PROVER.reason), limits)
        return
    except (ChainError, ProofError) as error:
        log.warning("Will retry %s: %s", row_names, error)
        code = error.code if isinstance(error, ChainError) else InvalidAnswersError.code
        reason = Reason(code, str(error))
    except Exception:
        log.exception("Unexpected error while working on %s.", row_names)
        reason = WaitCode.INTERNAL_ERROR.reason
    else:
        return
    for lease in leases:
        _release(lease, Retry(reason, lease.row.failures + 1), limits)


def _release_after_block(lease: Lease[BlockJob], outcome: Outcome, context: ProverContext) -> None:
    if isinstance(outcome, Snooze) and outcome.head_hash is not None:
        delay = context.pause_until_next_block(lease.row.pk, outcome.head_hash)
        outcome = replace(outcome, delay=delay)
    _release(lease, outcome, context.limits)


def _release(lease: AnyLease, outcome: Outcome, limits: Limits) -> None:
    if outcome is None:
        lease.close()
        return
    attempts = outcome.attempts if isinstance(outcome, Retry) else 0
    pause = _back_off(attempts, limits) if outcome.delay is None else outcome.delay
    row, reason = lease.row, outcome.reason
    counts = counts_towards_age(row, reason)
    lease.reschedule(pause, reason, failures=attempts, counts_towards_max_age=counts)
    if counts and reason:
        reject_old_batches(row, reason, limits)


def _back_off(attempts: int, limits: Limits) -> timedelta:
    """The pause after this many consecutive failures."""
    seconds = limits.initial_retry_delay * 2 ** min(attempts, 20)
    return timedelta(seconds=min(seconds, limits.max_retry_delay))
