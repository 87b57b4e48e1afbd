"""One look at what is due, and one piece of work where something is."""

import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from queries import transitions
from queries.chain.errors import ChainError, NodesLie, StateOfAnotherBlock
from queries.models import Batch, BlockJob, Query, WebhookDelivery, WebhookTurn
from queries.pipeline.advance import advance
from queries.pipeline.chains import Chains
from queries.pipeline.deliver import deliver
from queries.pipeline.finality import look_at_final
from queries.pipeline.following import unsettled
from queries.pipeline.lane import LaneBusy
from queries.pipeline.leases import (
    Lease,
    LeaseLost,
    claim_batch,
    claim_delivery,
    claim_job,
    claim_job_beside,
    claim_turn,
    pass_on,
)
from queries.pipeline.pieces import MOST_GAS
from queries.pipeline.prove import Ready, prove
from queries.pipeline.settle import settle
from queries.pipeline.work import SOON, Wait
from queries.proving.errors import ProofError
from queries.transitions import Failure

log = logging.getLogger("tacitus.prover")

Claimed = Lease[Batch] | Lease[BlockJob] | Lease[WebhookDelivery] | Lease[WebhookTurn]
LONGEST_WAIT = timedelta(seconds=60)
# What shares transactions: so many jobs, gathered for so many seconds.
MOST_READY, GATHERING = 64, 1.5
SETTLING = 1.5  # seconds for batches before a job has its turn
FINAL_EVERY = 15  # seconds
TRIES = 2  # before what another try cannot mend is told to who asked
# What a node may stop doing by itself, but does not when it has done it so often in a row, which
# takes some four minutes; and some two where nodes were away before.
LASTING = (NodesLie, StateOfAnotherBlock, ProofError)
TRIES_OF_LIES, LONGEST_AWAY = 10, 7


def work_once(chains: Chains) -> bool:
    """Whether there was anything to do.

    Batches first, so that their jobs go together, but only for so long: those that wait for their
    blocks are looked at again and again, and many would leave no time for what is ready.
    """
    chains.look_at_heads()
    _look_at_final(chains)
    now = time.monotonic()
    batch = claim_batch() if now < chains.settles_until else None
    if batch is not None:
        chains.settles_until = min(chains.settles_until, now + SETTLING)
        _settle(batch, chains)
        return True
    chains.settles_until = math.inf
    job = claim_job()
    if job is not None:
        _advance(job, chains)
        return True
    return False


def deliver_once() -> bool:
    """Whether a webhook was due. Receivers may be slow, so no proof waits for one.

    Nor does a webhook wait for those of another account.
    """
    turn = claim_turn()
    if turn is None:
        return False
    with _answered_for([turn]):
        delivery = claim_delivery(turn)
        if delivery is not None:
            with _answered_for([delivery]):
                _then(delivery, deliver(delivery))
        pass_on(turn, SOON if delivery is None else timedelta(0))
    return True


def _look_at_final(chains: Chains) -> None:
    """Every now and then."""
    if time.monotonic() < chains.looks_at_final:
        return
    chains.looks_at_final = time.monotonic() + FINAL_EVERY
    for destination in {destination for _, destination in chains.routes.registries}:
        try:
            look_at_final(chains, destination)
        except ChainError as fault:
            log.warning("%s", fault)


def _settle(lease: Lease[Batch], chains: Chains) -> None:
    with _answered_for([lease]):
        _then(lease, settle(lease, chains))


def _advance(first: Lease[BlockJob], chains: Chains) -> None:
    """The job, and with it those of its kind that are ready to be proven as well."""
    ready: list[Ready] = []
    seen: set[int] = set()  # one that waits would be due soon, and soon, and soon again
    lease: Lease[BlockJob] | None = first
    until = time.monotonic() + GATHERING
    while lease is not None:
        seen.add(lease.row.pk)
        with _answered_for([lease]):
            reached = advance(lease, chains)
            if isinstance(reached, Ready):
                ready.append(reached)
            else:
                _then(lease, reached)
        if not ready or _is_enough(ready) or time.monotonic() > until:
            break
        lease = claim_job_beside(first.row, SOON, seen)
    alone = [each for each in ready if each.failed_before]
    together = [each for each in ready if each not in alone]
    for some in filter(None, [together, *([each] for each in alone)]):
        leases = [each.work.lease for each in some]
        with _answered_for(leases):
            for held, wait in zip(leases, prove(some), strict=True):
                _then(held, wait)


def _is_enough(ready: Sequence[Ready]) -> bool:
    """For a transaction, or for what a worker should hold."""
    return len(ready) >= MOST_READY or sum(each.gas for each in ready) > MOST_GAS


@contextmanager
def _answered_for(leases: Sequence[Claimed]) -> Iterator[None]:
    """Whatever goes wrong inside, these rows are looked at again, or told why not."""
    try:
        yield
    except LeaseLost:
        log.info("Another worker has gone on with %s.", _named(leases))
        for lease in leases:
            lease.look_again(SOON)
    except LaneBusy:
        for lease in leases:
            lease.look_again(SOON, "Other transactions are being signed.")
    except (ChainError, ProofError) as fault:
        for lease in leases:
            _later(lease, fault)
    except Exception:
        log.exception("A fault with %s.", _named(leases))
        for lease in leases:
            _back_off(lease, "A fault of ours, which the operator finds in the log.")


def _named(leases: Sequence[Claimed]) -> str:
    return ", ".join(str(lease.row) for lease in leases)


def _then(lease: Claimed, wait: Wait | None) -> None:
    if wait is None:
        lease.close()
    else:
        lease.look_again(wait.after, wait.waits_for, failures=wait.failures)


def _later(lease: Claimed, fault: ChainError | ProofError) -> None:
    """A chain that fails is asked again; what can never be better is told, and what lasts."""
    batches = _waiting_for(lease.row)
    log.warning("%s: %s", lease.row, fault)
    lasts = isinstance(fault, LASTING)
    retryable = isinstance(fault, ProofError) or fault.retryable
    job = lease.row if isinstance(lease.row, BlockJob) else None
    if job:
        # Its header may be what is wrong: it was undone since, or a node made it up.
        BlockJob.objects.filter(pk=job.pk, lease_token=lease.token).update(header="")
    if retryable and not lasts:
        # However long nodes were away: a lie when they are back is not the last of many.
        lease.row.failures = min(lease.row.failures, LONGEST_AWAY)
    if (retryable and not lasts) or lease.row.failures < (TRIES_OF_LIES if lasts else TRIES):
        _back_off(lease, str(fault))
        return
    code = fault.code if isinstance(fault, ChainError) else NodesLie.code
    queries = Query.objects.filter(batch__in=batches, ended=False)
    failing = queries.filter(job=job) if job else queries
    step = transitions.step_of(failing)
    transitions.reject(batches, Failure(code, str(fault), step, retryable=retryable), failing)
    if job and unsettled(job):
        _back_off(lease, str(fault))  # a nonce that is left out would hold up all after it
    else:
        lease.close()


def _waiting_for(row: Batch | BlockJob | WebhookDelivery | WebhookTurn) -> list[str]:
    """The batches that are to be told."""
    if isinstance(row, BlockJob):
        return list(transitions.open_queries(row).values_list("batch", flat=True).distinct())
    return [row.pk] if isinstance(row, Batch) else []


def _back_off(lease: Claimed, waits_for: str) -> None:
    failures = lease.row.failures + 1
    after = min(SOON * 2 ** min(failures, 10), LONGEST_WAIT)
    lease.look_again(after, waits_for, failures=failures)
