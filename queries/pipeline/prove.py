"""What is missing is proven: proofs are fetched, checked, put into calls, and sent.

Jobs that are ready together share transactions.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db.models import Q, QuerySet

from queries.chain.errors import CallReverted, RegistryMisread, TooMuchGas, TransactionRefused
from queries.chain.nodes import ENOUGH_NODES
from queries.chain.registry_facts import FactRead
from queries.chain.second_words import Missing
from queries.models import Query, SentTransaction, TransactionOfJob
from queries.pipeline.anchors import SteppingStone
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import HeldBack, TooLittleOffered
from queries.pipeline.day import DaySpent, why_it_waits
from queries.pipeline.following import unsettled
from queries.pipeline.joining import Call
from queries.pipeline.known import confirm
from queries.pipeline.mined import sent_to
from queries.pipeline.offers import Need
from queries.pipeline.opinions import REFUSALS, Opinions
from queries.pipeline.pieces import Anchor, Piece, stepping_stone
from queries.pipeline.pricing import (
    REFUSED,
    Refusal,
    needs_alone,
    priced_alone,
    priced_together,
    proving_pieces,
    refusal_of,
)
from queries.pipeline.too_little import reject_who_offer_too_little
from queries.pipeline.verdicts import LOOKS_WITH_ONE, heard_by, is_heard_from_all
from queries.pipeline.wanted import missing
from queries.pipeline.work import LATER, SOON, Wait, Work, pause_after
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.statuses import ENDED, StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRIES = 5
TRIES_TOGETHER = 2  # fewer than after which a fault is told to who asked: it may be another job's
FAILED = 3
HELD_FOR = timedelta(seconds=60)  # then who asked earlier waits for it no longer
BROUGHT = 3  # hashes for a job: the source may reorganise, and what a node denies is paid for again
TRANSACTION_FAILED = "transaction_failed"
SENT = Reason(WaitCode.TRANSACTION_ON_ITS_WAY, "Its transaction is on its way.")
HASH_SENT = Reason(WaitCode.HASH_ON_ITS_WAY, "The registry is being told a block's hash.")
HASH_DENIED = Reason(
    WaitCode.HASH_ASKED_AGAIN,
    "A node does not know the hash that the registry was told; the others are asked as well.",
)
PRICE_HEARD_AGAIN = Reason(
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
# Looks that count where what is offered is too little: by turns with those where one refuses it.
NOT_PAID = {PRICE_HEARD_AGAIN.code, NOT_TAKEN_YET.code, TransactionRefused.code, TooMuchGas.code}


@dataclass(frozen=True, slots=True)
class Ready:
    """A job whose proofs are at hand, checked and cut into pieces."""

    work: Work
    pieces: Sequence[Piece]
    lacking: Sequence[Query]  # who pays: nobody who has all that was asked
    failed: int = 0  # transactions of it that were mined and did nothing
    with_accounts: bool = False  # whose proofs were fetched

    @property
    def failed_before(self) -> bool:
        """Then it goes alone: others are not to fail with it."""
        job = self.work.job
        return max(job.failures, len(job.heard)) >= TRIES_TOGETHER or bool(self.failed)

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)

    @property
    def is_stone(self) -> bool:
        return self.pieces[0].stone


def make_ready(
    work: Work, anchor: Anchor | SteppingStone, unproven: Sequence[FactRead]
) -> Ready | Wait | None:
    failed = _failed(work)
    if len(failed) >= FAILED:
        return work.reject(_failed_too_often(failed[-1]))
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
        return Wait(SOON, STONE_SENT) if on_their_way else stone
    wanted, keep = missing(unproven), work.lease.keep
    pieces = proving_pieces(work.chains, work.registry, job, anchor, wanted, keep)
    return Ready(work, pieces, lacking, len(failed), with_accounts=bool(wanted.accounts))


def prove(ready: Sequence[Ready]) -> list[Wait | None]:
    """What each of them waits for then. All are of one registry."""
    chains, registry = ready[0].work.chains, ready[0].work.registry
    _keep([each.work for each in ready])
    pieces = [piece for each in ready for piece in each.pieces]
    needs = needs_alone(chains, registry, pieces, of_each=_is_doubted(ready))
    refused = {
        each.work.job.pk: (piece, why)
        for each in ready
        for piece in each.pieces
        if not isinstance(why := needs[piece], Need)
    }
    going = [each for each in ready if each.work.job.pk not in refused]
    alone = {piece: need for piece, need in needs.items() if isinstance(need, Need)}
    sent: dict[int, Wait] = {}
    for stones in (True, False):
        some = [each for each in going if each.is_stone is stones]
        sent |= _send(some, {piece: alone[piece] for each in some for piece in each.pieces})
    return [
        _refused(each.work, *refused[each.work.job.pk])
        if each.work.job.pk in refused
        else sent[each.work.job.pk]
        for each in ready
    ]


def _is_doubted(ready: Sequence[Ready]) -> bool:
    """How much gas they need: that is a node's word, and with too little they failed."""
    return any(each.failed for each in ready)


def _keep(works: Sequence[Work]) -> None:
    """Each once, and not those beside it as well."""
    for each in works:
        replace(each.lease, beside=()).keep()


def bring(work: Work, call: Call) -> Wait:
    """Have the registry learn a hash; one transaction serves all jobs that wait for one."""
    others = SentTransaction.objects.filter(
        jobs__source=work.job.source,
        jobs__destination=work.job.destination,
        brings_hash=True,
        settled=False,
    ).exclude(succeeded=False)  # one that is mined may be unknown to a node that is behind
    if others.exists():
        return Wait(SOON, HASH_SENT)
    brought = work.job.transactions.filter(brings_hash=True, succeeded=True)
    times = sum(1 for _ in sent_to(work.registry.address, brought))
    if times >= BROUGHT:
        raise RegistryMisread("Nodes of the destination deny each hash that the registry was told.")
    if times and not work.is_heard_from_all(HASH_DENIED):
        return work.failed(HASH_DENIED)
    if work.chains.day_is_spent(work.job.destination):
        return _waits_for_the_day(work)
    destination = work.chains.destination(work.job.destination)
    said = Opinions(len(destination.chain.nodes))
    for _ in destination.with_each_first():
        work.lease.keep()
        try:
            return _brought(work, call, others)
        except (*REFUSALS, TooLittleOffered) as opinion:
            said.note(opinion, destination.answered, alone=destination.answered_alone)
    too_poor = said.of_all()
    if too_poor and not _are_heard([work], said, too_poor):
        return _once_more([work], PRICE_HEARD_AGAIN)[work.job.pk]
    if too_poor:
        reject_who_offer_too_little(work.chains, [work], too_poor)
    return Wait(SOON, HASH_SENT)


def _brought(work: Work, call: Call, others: QuerySet[SentTransaction]) -> Wait:
    """`TooLittleOffered` where nothing is sent for that."""
    payers = who_pay(work.queries)
    offered = priced_alone(work.chains, work.registry, call, payers)
    lane = work.chains.lane(work.job.destination)
    try:
        leases = {work.job.pk: work.lease}
        lane.put_on_their_way(leases, work.registry.address, [offered], unless=others)
    except DaySpent:
        return _waits_for_the_day(work)
    except HeldBack as poor:
        held = poor.needed.keys()
        if _keep_others_waiting(held, {work.job.pk: payers}) and _are_held_long(work, held):
            raise
        return Wait(LATER, HELD_BACK)
    return Wait(SOON, HASH_SENT, afresh=True)


def who_pay(queries: Sequence[Query]) -> list[Query]:
    """None of a batch that was DONE before its facts were undone: it has paid."""
    return [query for query in queries if query.batch.status not in ENDED]


def _send(ready: Sequence[Ready], alone: Mapping[Piece, Need]) -> dict[int, Wait]:
    """What each job waits for then. What gas costs, and how much of it is needed, is a node's word:
    nobody is rejected for that of one where another one's may be covered.
    """
    if not ready:
        return {}
    works = [each.work for each in ready]
    work, *_ = works
    destination = work.chains.destination(work.job.destination)
    doubted = _is_doubted(ready)
    with suppress(*REFUSALS, TooLittleOffered):
        return _put_on_their_way(ready, alone, of_each=doubted)
    # Now each by itself, also of gas. Nor is that the most of two then, which may be any.
    of_each = doubted and destination.how_many_answer() > ENOUGH_NODES
    said = Opinions(len(destination.chain.nodes))
    for _ in destination.with_each_first():
        try:
            _keep(works)
            needs = needs_alone(work.chains, work.registry, list(alone), of_each=of_each)
            known = {piece: need for piece, need in needs.items() if isinstance(need, Need)}
            if len(known) == len(alone):
                return _put_on_their_way(ready, known, of_each=of_each)
            # Which keeps no other one from speaking.
            said.note_otherwise(destination.answered, alone=destination.answered_alone)
        except (*REFUSALS, TooLittleOffered) as opinion:
            said.note(opinion, destination.answered, alone=destination.answered_alone)
    return _by_what_was_said(works, said)


def _by_what_was_said(works: Sequence[Work], said: Opinions) -> dict[int, Wait]:
    """Where nothing was sent."""
    too_poor = said.of_all()
    if too_poor is None:
        return _once_more(works)  # each names others
    if not _are_heard(works, said, too_poor):
        return _once_more(works, PRICE_HEARD_AGAIN)
    reject_who_offer_too_little(works[0].chains, works, too_poor)
    # Others go on; where one node is away, the next who offers too little is told at once.
    return {each.job.pk: Wait(SOON, PRICE_HEARD_AGAIN, each.job.failures) for each in works}


def _are_heard(works: Sequence[Work], said: Opinions, too_poor: TooLittleOffered) -> bool:
    """Two that name a price at once; or one, of two after both were first twice where the other one
    refuses everything, and after some minutes where others say nothing of it.
    """
    if said.is_of_two(too_poor):
        return True
    least = 1 if said.are_of_two else LOOKS_WITH_ONE
    return all(
        is_heard_from_all(each.chains, heard_by(each.job), {each.job.destination}, NOT_PAID, least)
        for each in works
    )


def _once_more(works: Sequence[Work], why: Reason = NOT_TAKEN_YET) -> dict[int, Wait]:
    """By what the node that is asked first now says; and each alone, if it goes on."""
    failures = {each.job.pk: min(each.job.failures + 1, LOOKS_WITH_ONE) for each in works}
    return {job: Wait(pause_after(count), why, count) for job, count in failures.items()}


def _put_on_their_way(
    ready: Sequence[Ready], alone: Mapping[Piece, Need], *, of_each: bool
) -> dict[int, Wait]:
    """`TooLittleOffered` where nothing is sent for that."""
    works = [each.work for each in ready]
    work, *others = works
    pieces = {piece: alone[piece] for each in ready for piece in each.pieces}
    served = {each.work.job.pk: who_pay(each.lacking) for each in ready}
    try:
        offered = priced_together(work.chains, work.registry, pieces, served, of_each=of_each)
    except CallReverted:
        if not others:
            raise
        # What some of them rest on has just moved.
        first = {piece: alone[piece] for piece in ready[0].pieces}
        return dict.fromkeys(served, Wait(SOON, SENT)) | _send(ready[:1], first)
    leases = {each.job.pk: each.lease for each in works}
    try:
        lane = work.chains.lane(work.job.destination)
        stones = _stones_between(ready) if ready[0].is_stone else None
        lane.put_on_their_way(leases, work.registry.address, offered, unless=stones)
    except DaySpent:  # since it was asked
        return {each.job.pk: _waits_for_the_day(each) for each in works}
    except TooLittleOffered as poor:
        if not isinstance(poor, HeldBack):
            raise
        held = poor.needed.keys()
        if _keep_others_waiting(held, served) and _are_held_long(work, held):
            raise
        waiting = {job for job, who in served.items() if _batches(who) & held}
        going = [each for each in ready if each.work.job.pk not in waiting]
        mine = {piece: alone[piece] for each in going for piece in each.pieces}
        return dict.fromkeys(waiting, Wait(LATER, HELD_BACK)) | _send(going, mine)
    return dict.fromkeys(served, Wait(SOON, SENT, afresh=True))


def _waits_for_the_day(work: Work) -> Wait:
    """No failure of anything. What it has on its way is followed meanwhile."""
    pause = LATER if unsettled(work.job) else max(work.pause, LATER)
    return Wait(pause, why_it_waits(work.chains.chain(work.job.destination)))


def _are_held_long(work: Work, batches: AbstractSet[str]) -> bool:
    """How much is held back is what one node says of gas, until the transaction is mined."""
    rows = SentTransaction.objects.filter(chain=work.job.destination, settled=False)
    long_ago = rows.filter(signed__lt=shared_now() - HELD_FOR)
    return any(not batches.isdisjoint(row.shares) for row in long_ago.defer("raw"))


def _keep_others_waiting(batches: AbstractSet[str], served: Mapping[int, Sequence[Query]]) -> bool:
    """Who asked earlier: else ever new batches could keep a block from being proven."""
    for who in map(_batches, served.values()):
        short = who.intersection(batches)
        if short and min(who - short, default=max(short)) < max(short):
            return True
    return False


def _batches(queries: Sequence[Query]) -> set[str]:
    return {each.batch_id for each in queries}


def _stones_between(ready: Sequence[Ready]) -> QuerySet[SentTransaction]:
    """Those on their way that lie between one of these blocks and what is known above it.

    Each is a step down for the block as well, although another job asked for it.
    """
    between = Q()
    for each in ready:
        known = each.pieces[0].above[-1].header.number
        between |= Q(for_jobs__stone__gte=each.work.job.block, for_jobs__stone__lt=known)
    job = ready[0].work.job
    return SentTransaction.objects.filter(
        between,
        for_jobs__job__source=job.source,
        chain=job.destination,
        settled=False,
        mined_block=None,
    )


def _confirm_stone_is_needed(work: Work, lowest: Header) -> Wait | None:
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
    return confirm(work, Missing(nearest.stone, leaf), nearest.transaction_id)


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


def _failed_too_often(last: int) -> Failure:
    """It has cost gas, and that is not repeated for ever."""
    mined_hash = SentTransaction.objects.get(pk=last).mined_hash
    sentence = f"{FAILED} transactions were mined and failed, the last one {mined_hash}."
    return Failure(TRANSACTION_FAILED, sentence, StepName.HEADER_ACCUMULATED, retryable=True)


def _refused(work: Work, piece: Piece, why: Refusal) -> Wait | None:
    """What is not sent: what the call rests on may just have moved, or one node says so alone."""
    step = StepName.HEADER_ACCUMULATED
    if isinstance(why, TransactionRefused):
        code, sentence = why.code, why.sentence
        waits_for = Reason(code, sentence)
        failure = Failure(code, sentence, step, retryable=False)
    else:
        waits_for = NOT_TAKEN_YET
        failure = Failure(REFUSED, refusal_of(why), step, retryable=True)
    if not work.is_heard_from_all(waits_for, TRIES):
        return work.failed(waits_for)
    destination = work.chains.destination(work.job.destination)
    nodes, refusing = len(destination.chain.nodes), 0
    for _ in destination.with_each_first():
        need = needs_alone(work.chains, work.registry, [piece])[piece]
        refusing += not isinstance(need, Need)
    # One alone would have it sent, but in its own turns it did not. After one that failed it is not
    # sent for that word, as `pricing` has it.
    enough = min(ENOUGH_NODES, nodes)
    if refusing < (enough if _failed(work) else max(nodes - 1, enough)):
        return work.failed(waits_for)
    return work.reject(failure, waits_for, TRIES)
