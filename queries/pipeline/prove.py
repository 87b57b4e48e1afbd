"""Fetch and check the missing proofs, build `prove()` calls, and sign and send them.

Jobs that are ready together share transactions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet

from queries import transitions
from queries.chain.calls import selector
from queries.chain.errors import CallReverted, ChainError, TransactionRefused
from queries.chain.registry import FactRead
from queries.chain.sender import Destination
from queries.models import Query, SentTransaction, TransactionOfJob
from queries.pipeline.anchors import SteppingStone
from queries.pipeline.fees import (
    DaySpent,
    FeeTooLow,
    Need,
    Offer,
    cannot_pay,
    shares_of,
    why_it_waits,
)
from queries.pipeline.known import NODE_BEHIND, confirm
from queries.pipeline.pieces import Anchor, Call, HashCall, Part, Piece, stepping_stone
from queries.pipeline.pricing import REFUSED, Refusal, pricing_of, proving_pieces, refusal_of
from queries.pipeline.transactions import sent_to, unsettled
from queries.pipeline.wanted import missing
from queries.pipeline.work import Outcome, Snooze, Work
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.statuses import ENDED, StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"
SENT = Reason(WaitCode.TRANSACTION_ON_ITS_WAY, "Its transaction is on its way.")
HASH_SENT = Reason(WaitCode.HASH_ON_ITS_WAY, "The registry is being told a block's hash.")
PRICE_ASKED_AGAIN = Reason(
    WaitCode.PRICE_ASKED_AGAIN,
    "What its batch offers is too little, as a node says; the others are asked as well.",
)
HELD_BACK = Reason(
    WaitCode.FEE_HELD_BACK,
    "What its batch offers is held back for a transaction, until it is known what that one costs.",
)
STONE_SENT = Reason(
    WaitCode.HEADERS_ON_THEIR_WAY, "Headers that lead down to its block are on their way."
)
NOT_TAKEN_YET = Reason(WaitCode.REGISTRY_REFUSES, "The registry does not take the proof yet.")
# What the call rests on is not there: the job is planned anew, and nobody is rejected for it.
REPLANNED = tuple(
    selector(each)
    for each in ("BlockNotKnown(uint256,bytes32)", "BlockNotAccumulated(uint256,bytes32,bytes32)")
)


@dataclass(frozen=True, slots=True)
class Ready:
    """A job whose proofs are fetched, checked and cut into pieces."""

    work: Work
    pieces: Sequence[Part]
    lacking: Sequence[Query]  # those that lack some of it
    failed: int = 0  # transactions of it that were mined and did nothing

    @property
    def payers(self) -> list[Query]:
        """Skip batches that were charged before a reorg."""
        return [query for query in self.lacking if query.batch.status not in ENDED]

    @property
    def failed_before(self) -> bool:
        """Then it goes alone, so that others do not fail with it."""
        return self.work.job.failures >= self.work.limits.refusals or bool(self.failed)

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)

    @property
    def kind(self) -> tuple[bool, bool]:
        """Whether it leads down to its block, and whether batches pay; kinds go apart."""
        return self.pieces[0].stone, bool(self.payers)


def make_ready(
    work: Work, anchor: Anchor | SteppingStone, unproven: Sequence[FactRead]
) -> Ready | Outcome:
    failed = _failed(work)
    if len(failed) >= work.limits.failed_transactions:
        return work.reject(_failed_too_often(failed))
    job = work.job.pk
    lacking = _lacking(work, anchor, unproven)
    if not lacking:
        return None  # what was missing a moment ago is there by now
    if work.chains.day_is_spent(work.job.destination):
        return _waits_for_the_day(work)  # before anything is fetched that nobody could send
    if isinstance(anchor, SteppingStone):
        if not_missing := _confirm_stone_is_needed(work, anchor.headers[0]):
            return not_missing
        stone = Ready(work, [stepping_stone(job, anchor.headers)], lacking, len(failed))
        on_their_way = _stones_between([stone]).exists()
        return Snooze(STONE_SENT) if on_their_way else stone
    wanted, keep = missing(unproven), work.lease.keep
    pieces = proving_pieces(work.chains, work.registry, job, anchor, wanted, keep)
    return Ready(work, pieces, lacking, len(failed))


def prove(ready: Sequence[Ready]) -> list[Outcome]:
    """What each of them waits for then. All are of one registry."""
    for each in ready:
        each.work.lease.keep()
    refused: dict[int, tuple[Part, Refusal]] = {}
    alone: dict[int, dict[Part, Need]] = {each.work.job.pk: {} for each in ready}
    pricing = pricing_of(ready[0].work.chains, ready[0].work.registry)
    for piece, need in pricing.alone([piece for each in ready for piece in each.pieces]).items():
        if isinstance(need, Need):
            alone[piece.job][piece] = need
        else:
            refused[piece.job] = piece, need
    sent: dict[int, Outcome] = {}
    for kind in sorted({each.kind for each in ready}, reverse=True):
        some = [each for each in ready if each.kind == kind]
        going = [each for each in some if each.work.job.pk not in refused]
        unless = _stones_between(going) if going and kind[0] else None
        sent |= _send(going, alone, SENT, unless)
    return [
        _refused(each.work, *refused[each.work.job.pk])
        if each.work.job.pk in refused
        else sent[each.work.job.pk]
        for each in ready
    ]


def bring(work: Work, call: Call, is_missing: Callable[[Destination], bool]) -> Outcome:
    """Have the registry learn a hash; one transaction serves all jobs that wait for one. What was
    brought already is brought again only where it is missing by quorum.
    """
    job = work.job
    others = SentTransaction.objects.filter(
        jobs__source=job.source, jobs__destination=job.destination, brings_hash=True, settled=False
    ).exclude(succeeded=False)  # one that is mined may be unknown to a node that is behind
    if others.exists():
        return Snooze(HASH_SENT)
    brought = job.transactions.filter(brings_hash=True, succeeded=True)
    if any(sent_to(work.registry.address, brought)) and not work.chains.destination(
        job.destination
    ).quorum(is_missing, ("hash", job.pk)):
        return work.failed(NODE_BEHIND)
    if work.chains.day_is_spent(job.destination):
        return _waits_for_the_day(work)
    piece = HashCall(job.pk, call.data)
    need = pricing_of(work.chains, work.registry).alone([piece])[piece]
    if not isinstance(need, Need):
        raise need
    ready = Ready(work, [piece], work.queries)
    return _send([ready], {job.pk: {piece: need}}, HASH_SENT, others)[job.pk]


def _send(
    ready: Sequence[Ready],
    alone: Mapping[int, Mapping[Part, Need]],
    why: Reason,
    unless: QuerySet[SentTransaction] | None = None,
) -> dict[int, Outcome]:
    """What each job waits for then."""
    if not ready:
        return {}
    jobs = [each.work.job.pk for each in ready]
    sent: dict[int, Outcome] = dict.fromkeys(jobs, Snooze(why))
    try:
        _sign(ready, {part: need for job in jobs for part, need in alone[job].items()}, unless)
    except CallReverted:
        if len(ready) == 1:
            raise
        return sent | _send(ready[:1], alone, why, unless)  # what some rest on has just moved
    except DaySpent:  # since it was asked
        return {each.work.job.pk: _waits_for_the_day(each.work) for each in ready}
    except FeeTooLow as poor:
        if not poor.waits:
            return _fee_too_low(ready, poor)
        held = [each for each in ready if poor.needed.keys() & {q.batch_id for q in each.payers}]
        going = [each for each in ready if each not in held]
        waits: dict[int, Outcome] = {
            each.work.job.pk: Snooze(HELD_BACK, each.work.pause) for each in held
        }
        return waits | _send(going, alone, why, unless)
    return sent


def _sign(
    ready: Sequence[Ready],
    alone: Mapping[Part, Need],
    unless: QuerySet[SentTransaction] | None,
) -> None:
    work = ready[0].work
    pricing = pricing_of(work.chains, work.registry)
    calls = pricing.together(alone)
    fees, cap = pricing.destination.fees(), pricing.destination.chain.gas_cap
    payers = {each.work.job.pk: each.payers for each in ready}
    offers = []
    for call, need in calls:
        costs = {part: alone[part].most(fees) for part in call.pieces or alone}
        limit, shares = min(need.gas + need.gas // 10, cap), shares_of(costs, payers)
        offers.append(Offer(call, need.gas, limit, fees, need.most(fees), shares))
    leases = {each.work.job.pk: each.work.lease for each in ready}
    lane = work.chains.lane(work.job.destination)
    lane.put_on_their_way(leases, work.registry.address, offers, unless)


def _fee_too_low(ready: Sequence[Ready], poor: FeeTooLow) -> dict[int, Outcome]:
    """Reject batches that by quorum cannot even pay the base fee of a block named here."""
    work = ready[0].work
    pricing = pricing_of(work.chains, work.registry)
    block = work.chains.newest(work.job.destination).number
    pieces = [piece for each in ready for piece in each.pieces]
    payers = {each.work.job.pk: each.payers for each in ready}

    def too_poor(one: Destination) -> frozenset[str]:
        fees, costs = one.fees_at(block), dict[Part, int]()
        for part, need in replace(pricing, destination=one).alone(pieces).items():
            if not isinstance(need, Need):
                raise need
            costs[part] = need.most(fees)
        return cannot_pay(shares_of(costs, payers)).intersection(poor.needed)

    named = pricing.destination.quorum(too_poor, ("fee", tuple(sorted(poor.needed))))
    certain = [batch for batch in poor.needed if batch in named]
    jobs = [each.work.job.pk for each in ready]
    for batch in certain:
        price = poor.needed[batch]
        others = Query.objects.filter(batch=batch, ended=False).exclude(job__in=jobs)
        more = ", and more for its other blocks" if others.exists() else ""
        sentence = (
            f"Proving this may cost {price:,} wei, and less was offered. Submit it again with a "
            f"fee of at least {price}{more}."
        )
        step = StepName.HEADER_ACCUMULATED
        transitions.reject([batch], Failure("fee_too_low", sentence, step, retryable=False))
    if certain:
        return dict.fromkeys(jobs, Snooze(PRICE_ASKED_AGAIN))
    return {each.work.job.pk: each.work.failed(PRICE_ASKED_AGAIN) for each in ready}


def _waits_for_the_day(work: Work) -> Snooze:
    """No failure of anything. What it has on its way is followed meanwhile."""
    pause = None if unsettled(work.job) else work.pause
    return Snooze(why_it_waits(work.chains.chain(work.job.destination)), pause)


def _stones_between(ready: Sequence[Ready]) -> QuerySet[SentTransaction]:
    """Those on their way that lie between one of these blocks and what is known above it.

    Each is a step down for the block as well, although another job asked for it.
    """
    between = Q()
    for each in ready:
        known = max(p.above[-1].header.number for p in each.pieces if isinstance(p, Piece))
        between |= Q(for_jobs__stone__gte=each.work.job.block, for_jobs__stone__lt=known)
    job = ready[0].work.job
    return SentTransaction.objects.filter(
        between,
        for_jobs__job__source=job.source,
        chain=job.destination,
        settled=False,
        mined_block=None,
    )


def _confirm_stone_is_needed(work: Work, lowest: Header) -> Outcome:
    """Not where one is mined that leads as far down."""
    mined = TransactionOfJob.objects.filter(
        job__source=work.job.source,
        stone__range=(work.job.block, lowest.number),
        transaction__chain=work.job.destination,
        transaction__succeeded=True,
    )
    there = sent_to(
        work.registry.address, SentTransaction.objects.filter(for_jobs__in=mined).distinct()
    )
    nearest = mined.filter(transaction__in=list(there)).order_by("stone").first()
    if nearest is None or nearest.stone is None:
        return None
    leaf = leaf_of(work.chains.source(work.job.source).header(nearest.stone))
    return confirm(work, nearest.stone, leaf, (), nearest.transaction_id)


def _lacking(
    work: Work, anchor: Anchor | SteppingStone, unproven: Sequence[FactRead]
) -> Sequence[Query]:
    if isinstance(anchor, SteppingStone) or not anchor.accumulated:
        return work.queries  # all of them want the header
    lacks = set(unproven)
    return [each for each in work.queries if lacks & set(work.reads[each.pk].values())]


def _failed(work: Work) -> list[int]:
    """Keys of what was mined and did nothing since those who wait have asked."""
    asked = min(each.batch.submitted for each in work.queries)
    failed = work.job.transactions.filter(
        succeeded=False, gas_used__isnull=False, settled=True, signed__gte=asked
    )
    return list(sent_to(work.registry.address, failed.order_by("pk")))


def _failed_too_often(failed: Sequence[int]) -> Failure:
    """It has cost gas, and that is not repeated for ever."""
    mined_hash = SentTransaction.objects.get(pk=failed[-1]).mined_hash
    sentence = f"{len(failed)} transactions were mined and failed, the last one {mined_hash}."
    return Failure(TRANSACTION_FAILED, sentence, StepName.HEADER_ACCUMULATED, retryable=True)


def _refused(work: Work, piece: Part, why: Refusal) -> Outcome:
    """Certain only by quorum, some attempts apart: what a call rests on may just have moved."""
    step = StepName.HEADER_ACCUMULATED
    if isinstance(why, TransactionRefused):
        failure = Failure(why.code, why.sentence, step, retryable=False)
        wait = work.failed(Reason(why.code, why.sentence))
    else:
        failure = Failure(REFUSED, refusal_of(why), step, retryable=True)
        wait = work.failed(NOT_TAKEN_YET)
    if wait.attempts < work.limits.refusals or _is_replanned(why):
        return wait
    pricing = pricing_of(work.chains, work.registry)

    def refusal(one: Destination) -> tuple[str, bytes] | None:
        need = replace(pricing, destination=one).alone([piece]).get(piece)
        return (need.code, getattr(need, "data", b"")) if isinstance(need, ChainError) else None

    destination = pricing.destination
    by_quorum = destination.quorum(refusal, ("refused", work.job.pk))
    if by_quorum != (why.code, getattr(why, "data", b"")):
        return wait
    return work.reject(failure)


def _is_replanned(why: Refusal) -> bool:
    return isinstance(why, CallReverted) and why.data.startswith(REPLANNED)
