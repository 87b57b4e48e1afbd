"""One pass over what is due: a worker claims rows, works on them, and stores the outcome."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from django.db.models import Exists, OuterRef

from queries import transitions
from queries.chain.errors import ChainError, NodesLie
from queries.chain.reader import nothing
from queries.config.limits import Limits
from queries.database import clock
from queries.database.leases import (
    Lease,
    LeaseLost,
    Outcome,
    Retry,
    Snooze,
    claim_one,
    queries_of_pass,
)
from queries.models import Batch, BlockJob, Leased, Query, Share, WebhookDelivery
from queries.prover.context import Chains
from queries.prover.job_pass import advance
from queries.prover.prove import Ready, prove
from queries.prover.resolve import settle
from queries.proving.errors import ProofError
from queries.statuses import StepName
from queries.transactions.lane import LaneBusy
from queries.transitions import Failure
from queries.wait_reasons import NOT_PROVABLE_YET, Reason, WaitCode
from queries.webhooks.deliver import claim_delivery, deliver

log = logging.getLogger("tacitus.prover")

OnClaim = Callable[[], object]  # called after a claim: then another thread may look for work
Claimed = Lease[Batch] | Lease[BlockJob] | Lease[WebhookDelivery]


def work_once(chains: Chains, found: OnClaim = nothing) -> bool:
    """Settle a due batch, then advance a due job. Returns whether there was any."""
    limits = chains.routes.limits
    batch = claim_one(Batch.objects.all())
    if batch is not None:
        found()
        with _answered_for([batch], limits):
            _then(batch, settle(batch, chains), limits)
    job = claim_one(BlockJob.objects.all())
    if job is not None:
        found()
        _advance(job, chains)
    return batch is not None or job is not None


def deliver_once(limits: Limits, found: OnClaim = nothing) -> bool:
    """Deliver one due webhook. Returns whether there was one."""
    delivery = claim_delivery()
    if delivery is None:
        return False
    found()
    with _answered_for([delivery], limits):
        _then(delivery, deliver(delivery), limits)
    return True


def _advance(first: Lease[BlockJob], chains: Chains) -> None:
    """Advance the job, and prove it together with other ready jobs of its route."""
    groups: dict[object, list[Ready]] = {}
    for each in _gathered(first, chains):
        groups.setdefault(each.group, []).append(each)
    for some in groups.values():
        leases = [each.work.lease for each in some]
        with _answered_for(leases, chains.routes.limits):
            outcomes = prove(some)
            for lease in leases:
                _wait(lease, outcomes[lease.row.pk], chains)


def _gathered(first: Lease[BlockJob], chains: Chains) -> list[Ready]:
    """Jobs to prove together: enough to fill a transaction, or those ready within `work_slice`."""
    limits = chains.routes.limits
    soon, until = timedelta(seconds=limits.retry_first), time.monotonic() + limits.work_slice
    ready: list[Ready] = []
    job, seen = first.row, set[int]()  # a job that waits is due again soon
    same_route = BlockJob.objects.filter(source=job.source, destination=job.destination)
    lease: Lease[BlockJob] | None = first
    while lease is not None:
        seen.add(lease.row.pk)
        with _answered_for([lease], limits):
            reached = advance(lease, chains)
            if isinstance(reached, Ready):
                ready.append(reached)
            else:
                _wait(lease, reached, chains)
        if not ready or time.monotonic() > until:
            break
        room = chains.chain(job.destination).gas_rules.room
        if sum(each.gas for each in ready) > room:
            break
        lease = claim_one(same_route.exclude(pk__in=seen), early=soon)
    return ready


@contextmanager
def _answered_for(leases: Sequence[Claimed], limits: Limits) -> Iterator[None]:
    """Whatever fails inside, these rows become due again."""
    try:
        yield
    except (LeaseLost, LaneBusy):  # another worker goes on with one of them
        for lease in leases:
            _then(lease, Snooze(WaitCode.LANE_BUSY.reason), limits)
    except (ChainError, ProofError) as fault:
        log.warning("%s: %s", _named(leases), fault)
        code = fault.code if isinstance(fault, ChainError) else NodesLie.code
        for lease in leases:
            _failed(lease, Reason(code, str(fault)), limits)
    except Exception:
        log.exception("A fault with %s.", _named(leases))
        for lease in leases:
            _failed(lease, WaitCode.FAULT_OF_OURS.reason, limits)


def _named(leases: Sequence[Claimed]) -> str:
    return ", ".join(str(lease.row) for lease in leases)


def _wait(lease: Lease[BlockJob], outcome: Outcome, chains: Chains) -> None:
    if isinstance(outcome, Snooze) and outcome.since is not None:
        pause = chains.pause_until_a_block(lease.row.pk, outcome.since)
        outcome = replace(outcome, after=pause)
    _then(lease, outcome, chains.limits)


def _then(lease: Claimed, outcome: Outcome, limits: Limits) -> None:
    if outcome is None:
        lease.close()
        return
    attempts = outcome.attempts if isinstance(outcome, Retry) else 0
    after = limits.back_off(attempts) if outcome.after is None else outcome.after
    row, why = lease.row, outcome.why
    has_sent = isinstance(row, BlockJob) and row.transactions.filter(settled=False).exists()
    is_provable = not has_sent and (why is None or why.code not in NOT_PROVABLE_YET)
    lease.reschedule(after, why, failures=attempts, is_provable=is_provable)
    if is_provable and why:
        _reject_the_old(row, why, limits)


def _failed(lease: Claimed, why: Reason, limits: Limits) -> None:
    _then(lease, Retry(why, lease.row.failures + 1), limits)


def _reject_the_old(row: Leased, why: Reason, limits: Limits) -> None:
    """Reject batches as old as `batch_max_age` whose row could be proven all that time.

    A batch with an unsettled transaction is left alone.
    """
    bound = clock.shared_now() - timedelta(seconds=limits.batch_max_age)
    if row.failing_since is None or row.failing_since > bound:
        return
    old, step = Query.objects.filter(ended=False, batch__submitted__lte=bound), None
    unsettled_shares = Share.objects.filter(batch=OuterRef("batch"), transaction__settled=False)
    old = old.filter(~Exists(unsettled_shares))
    if isinstance(row, BlockJob):
        old = old.filter(pk__in=queries_of_pass(row))
        step = transitions.step_of(old)
    elif isinstance(row, Batch):
        old, step = old.filter(batch=row, job=None), StepName.INITIAL_STATE
    failing = list(old) if step else []
    if step and failing:
        failure = Failure(why.code, why.sentence, step, retryable=True)
        transitions.reject({each.batch_id for each in failing}, failure, failing)
