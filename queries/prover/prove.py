"""Fetch and check the missing proofs, build `prove()` calls, and sign and send them.

Jobs that are ready together share transactions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from queries import transitions
from queries.amounts import short_amount
from queries.chain.errors import BeyondHorizonError, CallReverted, ChainError, TransactionRefused
from queries.chain.registry import Missing, RegistryFacts, missing
from queries.chain.sender import Destination
from queries.chain.signer import parts_of
from queries.contracts.abi import selector
from queries.database.leases import Outcome, Snooze
from queries.models import BlockJob, Query, SentTransaction
from queries.planning.anchors import Preparation, evidence, history_request
from queries.planning.calls import Anchor, Call, Piece, join, pieces_of
from queries.planning.pricing import Need, Refusal, refusal_of
from queries.prover.context import Work
from queries.prover.reorgs import wait_for_paid
from queries.statuses import ENDED, StepName
from queries.transactions.budget import DaySpent
from queries.transactions.lane import unsettled
from queries.transactions.offers import FeeTooLow, offers_of
from queries.transactions.shares import cannot_pay, shares_of
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"
# What the call rests on is not there: the job is planned again, and no batch is rejected for it.
REPLANNED = tuple(
    selector(each)
    for each in ("BlockNotKnown(uint256,bytes32)", "BlockNotAccumulated(uint256,bytes32,bytes32)")
)
ENDED_BY = selector("endedBy(bytes)")


@dataclass(frozen=True, slots=True)
class Ready:
    """A job whose proofs are fetched, checked and cut into pieces."""

    work: Work
    pieces: Sequence[Piece]
    alone: bool = False  # it failed before: others must not fail with it

    @property
    def payers(self) -> list[Query]:
        """Queries whose batches still pay: one that is DONE was charged before a reorg."""
        return [query for query in self.work.queries if query.batch.status not in ENDED]

    @property
    def group(self) -> tuple[bool, int | None]:
        """Jobs of one group share transactions. What no batch pays for is a group of its own."""
        return bool(self.payers), self.work.job.pk if self.alone else None

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)


def fetch_proofs(work: Work, anchor: Anchor, lacking: Missing, *, alone: bool) -> Ready | Outcome:
    """Fetch and check proofs of what is lacking, and cut them into pieces.

    If they contradict the header's state root, the registry's horizon is lowered first.
    """
    source, header = work.chains.source(work.job.source), anchor.header
    more = history_request(header) if lacking.accounts else []
    proofs = source.account_proofs(header, [*lacking.asked, *more], work.lease.keep)
    call = evidence(source, (header, *anchor.above), proofs.pop()) if more else None

    def is_trusted(one: Destination) -> bool:
        return RegistryFacts(one, work.registry).state_horizon() > header.timestamp

    destination = work.chains.destination(work.job.destination)
    if call and destination.quorum(is_trusted, ("horizon", work.job.pk)):
        if not anchor.hop:
            ending = Preparation(call, header.number, on_its_way=WaitCode.HORIZON_PENDING.reason)
            return prepare(replace(work, queries=[]), ending, is_trusted)  # the operator pays
        lacking, proofs = missing(()), []  # `endedBy` takes no hop: accumulate the block first
    pieces = pieces_of(work.job.pk, anchor, lacking, proofs, destination.chain.gas_rules)
    return Ready(work, pieces, alone)


def prove(ready: Sequence[Ready]) -> dict[int, Outcome]:
    """Sign and send. Returns what each job waits for; all are of one registry and one group."""
    if not ready:
        return {}
    for each in ready:
        each.work.lease.keep()
    pricing = ready[0].work.chains.pricing(ready[0].work.registry)
    found = pricing.fit(join([piece for each in ready for piece in each.pieces]))
    needs = {call: need for call, need in found.items() if isinstance(need, Need)}
    refused = {
        call.pieces[0].job: (call, need)
        for call, need in found.items()
        if not isinstance(need, Need)
    }
    if not refused:
        return _send(ready, needs, WaitCode.TRANSACTION_PENDING.reason)
    outcomes = prove([each for each in ready if each.work.job.pk not in refused])
    for each in ready:
        if each.work.job.pk in refused:
            outcomes[each.work.job.pk] = _refused(each.work, *refused[each.work.job.pk])
    return outcomes


def prepare(
    work: Work, preparation: Preparation, is_needed: Callable[[Destination], bool]
) -> Outcome:
    """Send the preparation, unless one of this route is on its way and may serve this job as well.

    After one was mined for this job, send another only if a quorum finds that it is needed.
    """
    job = work.job
    if _is_on_its_way(job, preparation):
        return Snooze(preparation.on_its_way, since=work.newest.hash)
    earlier = list(work.sent(prepares=True, succeeded=True).order_by("-pk")[:1])
    wait = wait_for_paid(work, earlier, is_needed, ("first", job.pk)) if earlier else None
    if wait:
        return wait
    call = Call(preparation.call, hops=preparation.in_call)
    need = work.chains.pricing(work.registry).fit([call])[call]
    if not isinstance(need, Need):
        raise need
    unless = partial(_is_on_its_way, job, preparation)
    return _send([Ready(work, [])], {call: need}, preparation.on_its_way, unless)[job.pk]


def _is_on_its_way(job: BlockJob, preparation: Preparation) -> bool:
    """Whether this route has the same preparation on its way, or other hops: they may serve too."""
    others = SentTransaction.objects.filter(
        jobs__source=job.source, jobs__destination=job.destination, prepares=True, settled=False
    ).exclude(succeeded=False)  # one that is mined may be unknown to a node that is behind
    if preparation.hops:
        return others.filter(hops__gt=0).exists()
    same = ENDED_BY if preparation.call.startswith(ENDED_BY) else preparation.call
    return any(parts_of(row.raw).data.startswith(same) for row in others)


def _send(
    ready: Sequence[Ready],
    needs: Mapping[Call, Need],
    why: Reason,
    unless: Callable[[], bool] | None = None,
) -> dict[int, Outcome]:
    """Sign and send the calls. Returns what each job waits for."""
    work, jobs = ready[0].work, {each.work.job.pk: each for each in ready}
    payers = {job: each.payers for job, each in jobs.items()}
    leases = {job: each.work.lease for job, each in jobs.items()}
    try:
        destination = work.chains.destination(work.job.destination)
        offers = offers_of(destination, needs, payers)
        lane = work.chains.lane(work.job.destination)
        newest = work.chains.newest(work.job.destination)  # read before it may be mined
        lane.sign_and_send(leases, work.registry.address, offers, unless)
    except DaySpent:  # by others, since the job asked `day_is_spent`
        return {job: wait_for_the_day(each.work) for job, each in jobs.items()}
    except FeeTooLow as poor:
        batch = min(poor.needed)
        its_own = [each for each in ready if batch in {query.batch_id for query in each.payers}]
        if len(its_own) == len(ready):
            return _fee_too_low(ready, needs, poor)
        # Alone it may cost more, and a rejection has to name that price.
        return prove([each for each in ready if each not in its_own]) | prove(its_own)
    return dict.fromkeys(jobs, Snooze(why, since=newest.hash))


def _fee_too_low(
    ready: Sequence[Ready], calls: Iterable[Call], poor: FeeTooLow
) -> dict[int, Outcome]:
    """Reject batches that cannot pay the next block's price, by quorum for one named block.

    Each node judges by its own tip and estimate. If only one is too high, the next pass asks
    another node first, and the batch is sent at that price.
    """
    payers = {each.work.job.pk: each.payers for each in ready}
    if poor.waits:
        return {
            each.work.job.pk: Snooze(WaitCode.FEE_RESERVED.reason, each.work.pause)
            for each in ready
        }
    work = ready[0].work
    pricing = work.chains.pricing(work.registry)

    def too_poor(one: Destination) -> frozenset[str]:
        fees, asked = one.fees_at(block), Counter[str]()
        for call, need in replace(pricing, destination=one).fit(list(calls)).items():
            if not isinstance(need, Need):
                raise need
            asked.update(shares_of(call, need.most(fees), payers))
        return cannot_pay(asked).intersection(poor.needed)

    try:
        block = work.chains.newest(work.job.destination).number
        named = pricing.destination.quorum(too_poor, ("fee", tuple(sorted(poor.needed))))
    except ChainError:  # such as `NoQuorum`: other transactions may have changed the answer
        named = frozenset()
    for batch in sorted(named):
        price = poor.needed[batch]
        others = Query.objects.filter(batch=batch, ended=False).exclude(job__in=payers)
        more = ", and more for its other blocks" if others.exists() else ""
        sentence = (
            f"Proving this may cost {price:,} wei, and less was offered. Submit it again with a "
            f"fee of at least {price}{more}."
        )
        step = StepName.HEADER_ACCUMULATED
        transitions.reject([batch], Failure("fee_too_low", sentence, step, retryable=False))
    if named:
        return dict.fromkeys(payers, Snooze(WaitCode.FEE_BELOW_GAS_PRICE.reason))
    return {each.work.job.pk: each.work.failed(WaitCode.FEE_BELOW_GAS_PRICE.reason) for each in ready}


def wait_for_the_day(work: Work) -> Snooze:
    """Not a failure. A job with unsettled transactions keeps its short pause to follow them."""
    chain = work.chains.chain(work.job.destination)
    bound = short_amount(chain.most_a_day or 0, chain.currency)
    sentence = f"The 24-hour budget of {bound} on {chain.name} is spent or reserved."
    pause = None if unsettled(work.job) else work.pause
    return Snooze(Reason(WaitCode.DAILY_BUDGET_SPENT, sentence), pause)


def failed_transactions(work: Work) -> list[str]:
    """Hashes of transactions that failed since the first waiting batch was submitted."""
    asked = min(each.batch.submitted for each in work.queries)
    failed = work.sent(succeeded=False, gas_used__isnull=False, settled=True, signed__gte=asked)
    return list(failed.order_by("pk").values_list("mined_hash", flat=True))


def _refused(work: Work, call: Call, why: Refusal) -> Outcome:
    """Reject by quorum and after some attempts: what the call rests on may just have changed."""
    step = StepName.HEADER_ACCUMULATED
    if isinstance(why, TransactionRefused | BeyondHorizonError):
        failure = Failure(why.code, why.sentence, step, retryable=False)
        wait = work.failed(Reason(why.code, why.sentence))
    else:
        failure = Failure(WaitCode.REGISTRY_REFUSES, refusal_of(why), step, retryable=True)
        wait = work.failed(WaitCode.REGISTRY_REFUSES.reason)
    is_replanned = isinstance(why, CallReverted) and why.data.startswith(REPLANNED)
    if is_replanned or wait.attempts < work.limits.refusals:
        return wait
    pricing = work.chains.pricing(work.registry)

    def try_out(one: Destination) -> None:
        need = replace(pricing, destination=one).fit([call]).get(call)
        if isinstance(need, ChainError):
            raise need

    try:
        pricing.destination.quorum(try_out, ("refused", work.job.pk))
    except ChainError as answer:
        if answer == why:
            if isinstance(why, BeyondHorizonError):  # header fields may still be proven
                of_accounts = [query for query in work.queries if query.account]
                work = replace(work, queries=of_accounts or work.queries)
            return work.reject(failure)
    return wait  # also without a quorum: other transactions may have changed the answer
