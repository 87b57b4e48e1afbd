"""One look at what is due, and one piece of work where something is."""

import logging
from datetime import timedelta

from queries import transitions
from queries.chain.errors import ChainError, NodesLie, StateOfAnotherBlock
from queries.models import Batch, BlockJob, Query, WebhookDelivery
from queries.pipeline.advance import advance
from queries.pipeline.chains import Chains
from queries.pipeline.deliver import deliver
from queries.pipeline.lane import LaneBusy, unsettled
from queries.pipeline.leases import Lease, LeaseLost, claim_batch, claim_delivery, claim_job
from queries.pipeline.settle import settle
from queries.pipeline.work import SOON, Wait
from queries.proving.errors import ProofError
from queries.transitions import Failure

log = logging.getLogger("tacitus.prover")

Claimed = Lease[Batch] | Lease[BlockJob] | Lease[WebhookDelivery]
LONGEST_WAIT = timedelta(seconds=60)
TRIES = 2  # before what another try cannot mend is told to who asked
# What a node may stop doing by itself, but does not when it has done it so often in a row, which
# takes some four minutes; and some two where nodes were away before.
LASTING = (NodesLie, StateOfAnotherBlock, ProofError)
TRIES_OF_LIES, LONGEST_AWAY = 10, 7


def work_once(chains: Chains) -> bool:
    """Whether there was anything to do."""
    chains.look_at_heads()
    batch = claim_batch()
    if batch is not None:
        _settle(batch, chains)
        return True
    job = claim_job()
    if job is not None:
        _advance(job, chains)
        return True
    delivery = claim_delivery()
    if delivery is not None:
        _deliver(delivery)
        return True
    return False


def _settle(lease: Lease[Batch], chains: Chains) -> None:
    try:
        _then(lease, settle(lease, chains))
    except LeaseLost:
        log.info("Another worker has gone on with batch %s.", lease.row.pk)
    except (ChainError, ProofError) as fault:
        _later(lease, fault, [lease.row.pk])
    except Exception:
        log.exception("Batch %s could not be settled.", lease.row.pk)
        _back_off(lease, "A fault of ours, which the operator finds in the log.")


def _advance(lease: Lease[BlockJob], chains: Chains) -> None:
    try:
        _then(lease, advance(lease, chains))
    except LeaseLost:
        log.info("Another worker has gone on with job %s.", lease.row.pk)
    except LaneBusy:
        lease.look_again(SOON, "Other transactions are being signed.")
    except (ChainError, ProofError) as fault:
        waiting = transitions.open_queries(lease.row).values_list("batch", flat=True).distinct()
        _later(lease, fault, list(waiting))
    except Exception:
        log.exception("Job %s could not be advanced.", lease.row.pk)
        _back_off(lease, "A fault of ours, which the operator finds in the log.")


def _deliver(lease: Lease[WebhookDelivery]) -> None:
    try:
        _then(lease, deliver(lease))
    except LeaseLost:
        log.info("Another worker has gone on with delivery %s.", lease.row.pk)
    except Exception:
        log.exception("Delivery %s could not be made.", lease.row.pk)
        _back_off(lease, "A fault of ours, which the operator finds in the log.")


def _then(lease: Claimed, wait: Wait | None) -> None:
    if wait is None:
        lease.close()
    else:
        lease.look_again(wait.after, wait.waits_for, failures=wait.failures)


def _later(lease: Claimed, fault: ChainError | ProofError, batches: list[str]) -> None:
    """A chain that fails is asked again; what can never be better is told, and what lasts."""
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
    step = transitions.step_of(queries.filter(job=job) if job else queries)
    transitions.reject(batches, Failure(code, str(fault), step, retryable=retryable))
    if job and unsettled(job):
        _back_off(lease, str(fault))  # a nonce that is left out would hold up all after it
    else:
        lease.close()


def _back_off(lease: Claimed, waits_for: str) -> None:
    failures = lease.row.failures + 1
    after = min(SOON * 2 ** min(failures, 10), LONGEST_WAIT)
    lease.look_again(after, waits_for, failures=failures)
