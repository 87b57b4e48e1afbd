"""One look at what is due, and one piece of work where something is."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta

from django.db import InterfaceError, OperationalError

from queries import transitions
from queries.chain.errors import (
    ChainError,
    NodesLie,
    RegistryMisread,
    StateOfAnotherBlock,
    TransactionRefused,
)
from queries.chain.nodes import PASSING
from queries.models import Batch, BlockJob, Leased, Query, WebhookDelivery, WebhookTurn
from queries.pipeline.advance import advance
from queries.pipeline.at_once import looked_at_now
from queries.pipeline.chains import Chains
from queries.pipeline.deliver import deliver
from queries.pipeline.finality import look_at_final
from queries.pipeline.following import unsettled
from queries.pipeline.hanging import HANGS
from queries.pipeline.lane import LaneBusy
from queries.pipeline.leases import (
    Lease,
    LeaseLost,
    claim_batch,
    claim_delivery,
    claim_job,
    claim_job_beside,
    claim_one_of,
    claim_turn,
    is_before_anothers_turn,
    pass_on,
)
from queries.pipeline.prove import Ready, prove
from queries.pipeline.settle import settle
from queries.pipeline.settle_together import claim_alike, settle_together
from queries.pipeline.verdicts import (
    COUNTED_UP_TO,
    Heard,
    count,
    heard_by,
    heard_with,
    is_heard_from_all,
)
from queries.pipeline.work import SOON, TRIES_OF_LIES, Wait, pause_after
from queries.proving.errors import ProofError
from queries.proving.portions import MOST_GAS
from queries.statuses import ENDED, StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

log = logging.getLogger("tacitus.prover")

Claimed = Lease[Batch] | Lease[BlockJob] | Lease[WebhookDelivery] | Lease[WebhookTurn]
# What shares transactions: so many jobs, gathered for so many seconds.
MOST_READY, GATHERING = 64, 1.5
GATHERING_BEFORE_OTHERS = 0.25  # where those have their turn, and wait
SETTLING = 1.5  # seconds for batches before a job has its turn
FINAL_EVERY, SOONER_FINAL = 15, 5  # seconds
TRIES = 2  # before what another try cannot mend is told to who asked
# What is told after `TRIES_OF_LIES`; where nodes were away before, that takes some two minutes.
LASTING = (NodesLie, StateOfAnotherBlock, ProofError)
AFRESH = Reason(
    WaitCode.EARLIER_TRANSACTION_REFUSED,
    "An earlier transaction for this block was refused. Once its nonce is used for another one, "
    "the block is proven afresh.",
)
SIGNING = Reason(WaitCode.LANE_BUSY, "Other transactions are being signed.")
FAULT_OF_OURS = Reason(
    WaitCode.FAULT_OF_OURS, "A fault of ours, which the operator finds in the log."
)


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
        is_one_of_many = chains.settles_until < math.inf
        chains.settles_until = min(chains.settles_until, now + SETTLING)
        _settle(batch, chains, with_others=is_one_of_many)
        return True
    chains.settles_until = math.inf
    job = claim_job(chains.left_out)
    if job is not None:
        try:
            _advance(job, chains)
        finally:
            chains.long_work.end()
        return True
    return False


def look_at_what_hangs(chains: Chains) -> bool:
    """Whether there was anything, for the thread that has patience. Each goes alone: others would
    wait with it.
    """
    left = chains.hanging.jobs
    if not left:
        return False
    chains.look_at_heads()  # its own nodes may be behind as well
    job = next(filter(None, map(claim_one_of, chains.hanging.next_ones())), None)
    if job is None:
        waiting = BlockJob.objects.filter(pk__in=left, look_again__isnull=False)
        chains.hanging.forget({*left}.difference(waiting.values_list("pk", flat=True)))
        return False
    try:
        _advance(job, chains, alone=True)
    finally:
        chains.long_work.end()
    return True


def deliver_once(meanwhile: Callable[[], AbstractContextManager[None]] = nullcontext) -> bool:
    """Whether a webhook was due. Receivers may be slow, so no proof waits for one.

    Nor does a webhook wait for those of another account. `meanwhile` is entered while one is sent.
    """
    turn = claim_turn()
    if turn is None:
        return False
    with meanwhile(), _answered_for([turn]):
        delivery = claim_delivery(turn)
        if delivery is not None:
            with _answered_for([delivery]):
                _then(delivery, deliver(delivery))
        pass_on(turn, SOON if delivery is None else timedelta(0))
    return True


def _look_at_final(chains: Chains) -> None:
    """Every now and then, and for a tenth of the time at most; for a fifth, where more become final
    than are looked at so.
    """
    begun = time.monotonic()
    if begun < chains.looks_at_final:
        return
    more_wait = False
    try:
        for destination in {destination for _, destination in chains.routes.registries}:
            try:
                more_wait |= look_at_final(chains, destination)
            except ChainError as fault:
                log.warning("%s", fault)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                # One row would keep those of all other chains from being final.
                log.exception("A fault with what becomes final on chain %s.", destination)
    finally:
        ended = time.monotonic()
        took = ended - begun
        pause = (SOONER_FINAL, 4 * took) if more_wait else (FINAL_EVERY, 10 * took)
        chains.looks_at_final = ended + max(pause)


def _settle(lease: Lease[Batch], chains: Chains, *, with_others: bool) -> None:
    with _answered_for([lease], chains):
        alike = claim_alike(lease, chains) if with_others else ()
        if not alike:
            _then(lease, settle(lease, chains), chains)
            return
        with _answered_for(alike):
            settle_together(alike)


def _advance(first: Lease[BlockJob], chains: Chains, *, alone: bool = False) -> None:
    """The job, and with it those of its kind that are ready to be proven as well."""
    ready = _gathered(first, chains, alone=alone)
    by_themselves = [each for each in ready if each.failed_before]
    together = [each for each in ready if each not in by_themselves]
    for some in filter(None, [together, *([each] for each in by_themselves)]):
        _prove(some, chains)


def _gathered(first: Lease[BlockJob], chains: Chains, *, alone: bool) -> list[Ready]:
    ready: list[Ready] = []
    seen: set[int] = set()  # one that waits would be due soon, and soon, and soon again
    lease: Lease[BlockJob] | None = first
    begun = time.monotonic()
    while lease is not None:
        seen.add(lease.row.pk)
        with _answered_for([lease], chains):
            gathered = tuple(each.work.lease for each in ready)
            reached = advance(replace(lease, beside=gathered), chains)
            if isinstance(reached, Ready):
                ready.append(reached)
            else:
                _then(lease, reached, chains)
        if alone or not ready or _is_enough(ready) or chains.long_work.is_held:
            break  # gathered with what is long, others would wait for all of it
        gathering = time.monotonic() - begun
        if gathering > GATHERING:
            break
        if gathering > GATHERING_BEFORE_OTHERS and is_before_anothers_turn(
            first.row, chains.left_out
        ):
            break
        lease = claim_job_beside(first.row, SOON, seen.union(chains.left_out))
    return ready


def _prove(some: Sequence[Ready], chains: Chains) -> None:
    leases = [each.work.lease for each in some]
    with _answered_for(leases, chains):
        if len(some) == 1 and some[0].work.job.failed_lately:
            # Others were looked at meanwhile, each in its own turn.
            chains.ask_first(some[0].work.job.looks, *leases[0].asked)
        waits = prove(some)
        for each in some:
            if each.with_accounts:
                each.work.went_well()
        for held, wait in zip(leases, waits, strict=True):
            _then(held, wait, chains)


def _is_enough(ready: Sequence[Ready]) -> bool:
    """For a transaction, or for what a worker should hold."""
    return len(ready) >= MOST_READY or sum(each.gas for each in ready) > MOST_GAS


@contextmanager
def _answered_for(leases: Sequence[Claimed], chains: Chains | None = None) -> Iterator[None]:
    """Whatever goes wrong inside, these rows are looked at again, or told why not."""
    begun = time.monotonic()
    try:
        yield
    except LeaseLost:
        _lost(leases)
    except LaneBusy:
        for lease in leases:
            lease.look_again(SOON, SIGNING)
    except (ChainError, ProofError) as fault:
        if chains and isinstance(fault, ChainError) and time.monotonic() - begun > HANGS:
            _note_what_hung(leases[0].row, fault, chains)
        for lease in leases:
            try:
                _later(lease, fault, chains)
            except LeaseLost:
                _lost([lease])
    except Exception:
        log.exception("A fault with %s.", _named(leases))
        for lease in leases:
            _back_off(lease, FAULT_OF_OURS, chains)


def _note_what_hung(row: Leased, fault: ChainError, chains: Chains) -> None:
    """Of several that were to be sent together one stands for all."""
    if isinstance(row, BlockJob) and type(fault) in PASSING and not fault.known_for:
        owners = Batch.objects.filter(pk__in=_waiting_for(row)).values_list("owner", flat=True)
        chains.hanging.hung(row.pk, (row.source, row.destination), set(owners))


def _lost(leases: Sequence[Claimed]) -> None:
    log.info("Another worker has gone on with %s.", _named(leases))
    for lease in leases:
        lease.look_again(SOON)


def _named(leases: Sequence[Claimed]) -> str:
    return ", ".join(str(lease.row) for lease in leases)


def _then(lease: Claimed, wait: Wait | None, chains: Chains | None = None) -> None:
    if wait is None:
        lease.close()
        return
    heard = () if wait.afresh else _heard(lease, wait.why if wait.failures else None, chains)
    lease.look_again(wait.after, wait.why, failures=wait.failures, heard=heard)


def _heard(lease: Claimed, failed: Reason | None, chains: Chains | None) -> Sequence[Heard] | None:
    """With this look; None where it asked nobody, or there is nothing to note."""
    row, asked = lease.row, lease.asked
    if chains is None or not asked:
        return None
    if failed is None and not row.heard:
        return None
    in_turn = chains.still_first(row.looks, asked) if row.failed_lately else []
    return heard_with(row, Heard(failed.code if failed else "", in_turn), chains, asked)


def _later(lease: Claimed, fault: ChainError | ProofError, chains: Chains | None) -> None:
    """A chain that fails is asked again; what can never be better is told, and what lasts."""
    if isinstance(fault, ChainError) and fault.known_for:
        # Nobody was asked, so it is no failure of this one.
        why, pause = Reason(fault.code, str(fault)), timedelta(seconds=fault.known_for)
        lease.look_again(pause, why, failures=lease.row.failures)
        return
    batches = _waiting_for(lease.row)
    log.warning("%s: %s", lease.row, fault)
    lasts = isinstance(fault, LASTING)
    retryable = isinstance(fault, ProofError) or fault.retryable
    job = lease.row if isinstance(lease.row, BlockJob) else None
    code = fault.code if isinstance(fault, ChainError) else NodesLie.code
    alike = {NodesLie.code, RegistryMisread.code, StateOfAnotherBlock.code} if lasts else {code}
    before = heard_by(lease.row)
    said = count(before, alike)
    if lasts:
        lease.row.failures = said  # each node is heard in its turn, whatever failed before
    if retryable and not lasts:
        # However long nodes were away: a lie when they are back is not the last of many.
        lease.row.failures = min(lease.row.failures, COUNTED_UP_TO)
    why = Reason(code, str(fault))
    if not lasts and (retryable or max(lease.row.failures, said) < TRIES):
        _back_off(lease, why, chains)
        return
    least = TRIES_OF_LIES + 1 if lasts else 1
    if chains and not is_heard_from_all(chains, before, lease.asked, alike, least):
        lease.row.failures = said
        _back_off(lease, why, chains)
        return
    lease.keep()  # or what another worker has signed meanwhile would be rejected
    late = _came_later(job, fault, batches)
    batches = [each for each in batches if each not in late]
    queries = Query.objects.filter(batch__in=batches, ended=False)
    failing = queries.filter(job=job)  # of a batch, those that it is settled for
    step = transitions.step_of(failing) if job else StepName.INITIAL_STATE
    transitions.reject(batches, Failure(code, str(fault), step, retryable=retryable), failing)
    if job and unsettled(job):
        # A nonce that is left out would hold up all after it.
        _back_off(lease, AFRESH if late else why, None)
    elif job and transitions.open_queries(job).exists():
        # Those that were not looked at yet, whom each node need not be asked for once more.
        lease.look_again(timedelta(0), why, heard=_heard(lease, why, chains))
    else:
        lease.close()


def _waiting_for(row: Leased) -> list[str]:
    """The batches that are to be told; of a job's, those that a look is at."""
    if isinstance(row, BlockJob):
        queries = Query.objects.filter(pk__in=looked_at_now(row))
        return list(queries.values_list("batch", flat=True).distinct())
    return [row.pk] if isinstance(row, Batch) else []


def _came_later(
    job: BlockJob | None, fault: ChainError | ProofError, batches: Sequence[str]
) -> set[str]:
    """Those that asked when what is refused was signed already: it was not for them."""
    if job is None or not isinstance(fault, TransactionRefused):
        return set()
    sharing = [batch for row in unsettled(job) for batch in row.shares]
    if not sharing:
        return set()
    # One that was DONE before its facts were undone has no share in what proves them anew.
    others = Batch.objects.filter(pk__in=batches).exclude(pk__in=sharing)
    return set(others.exclude(status__in=ENDED).values_list("pk", flat=True))


def _back_off(lease: Claimed, why: Reason, chains: Chains | None) -> None:
    failures = lease.row.failures + 1
    heard = _heard(lease, why, chains)
    lease.look_again(pause_after(failures), why, failures=failures, heard=heard)
