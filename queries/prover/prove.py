"""Fetch and check the missing proofs, build `prove()` calls, and sign and send them.

Jobs that are ready together share transactions.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from queries import transitions
from queries.amounts import short_amount
from queries.chain.destination import Destination
from queries.chain.errors import (
    BeyondHorizonError,
    CallRevertedError,
    ChainError,
    TransactionRefusedError,
)
from queries.chain.registry import FactGroups, RegistryFacts, group_facts
from queries.chain.signer import decode_transaction
from queries.contracts.abi import selector
from queries.database.leases import Outcome, Snooze
from queries.models import BlockJob, Query, SentTransaction
from queries.planning.anchors import Preparation
from queries.planning.calls import Anchor, Piece, ProveCall, cut_into_pieces, join
from queries.planning.horizon import history_request, horizon_evidence
from queries.planning.pricing import CallRefusal, GasNeed, describe_refusal
from queries.prover.context import JobPass
from queries.prover.reorgs import wait_for_effect
from queries.statuses import ENDED_STATUSES, StepName
from queries.transactions.budget import DailyBudgetSpentError
from queries.transactions.follow import unconfirmed_transactions
from queries.transactions.offers import FeeTooLowError, make_offers
from queries.transactions.shares import split_among_batches, underfunded_batches
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"
# A block that the call relies on is gone: plan the job again, and reject no batch.
REPLANNED = (
    selector("BlockNotKnown(uint256,bytes32)"),
    selector("BlockNotAccumulated(uint256,bytes32,bytes32)"),
)
ENDED_BY = selector("endedBy(bytes)")


@dataclass(frozen=True, slots=True)
class Ready:
    """A job whose proofs are fetched, checked and cut into pieces."""

    job_pass: JobPass
    pieces: Sequence[Piece]
    alone: bool = False  # it failed before, and must not make others fail

    @property
    def key(self) -> int:
        return self.job_pass.job.pk

    @property
    def payers(self) -> list[Query]:
        """Queries whose batches still pay: a DONE batch was charged before a reorg."""
        return [
            query for query in self.job_pass.queries if query.batch.status not in ENDED_STATUSES
        ]

    @property
    def group(self) -> tuple[bool, int | None]:
        """Jobs of one group share transactions. Jobs without payers are a group of their own."""
        return bool(self.payers), self.key if self.alone else None

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)


def fetch_proofs(
    job_pass: JobPass, anchor: Anchor, lacking: FactGroups, *, alone: bool
) -> Ready | Outcome:
    """Fetch and check proofs of the lacking facts, and cut them into pieces.

    If they contradict the header's state root, lower the registry's horizon first.
    """
    source, header = job_pass.source, anchor.header
    history = history_request(header) if lacking.accounts else []
    proofs = source.account_proofs(
        header, [*lacking.account_slots, *history], job_pass.lease.extend
    )
    headers = header, *anchor.newer_headers
    call = horizon_evidence(source, headers, proofs.pop()) if history else None

    def has_later_horizon(node: Destination) -> bool:
        return RegistryFacts(node, job_pass.registry).state_horizon() > header.timestamp

    destination = job_pass.destination
    if call and destination.ask_quorum(has_later_horizon, ("horizon", job_pass.job.pk)):
        if not anchor.hop:
            preparation = Preparation(
                call, header.number, pending_reason=WaitCode.HORIZON_PENDING.reason
            )
            unpaid = replace(job_pass, queries=[])  # the operator pays
            return prepare(unpaid, preparation, has_later_horizon)
        lacking, proofs = group_facts(()), []  # `endedBy` takes no hop: accumulate the block first
    rules = destination.chain.gas_rules
    pieces = cut_into_pieces(job_pass.job.pk, anchor, lacking, proofs, rules)
    return Ready(job_pass, pieces, alone)


def prove(ready: Sequence[Ready]) -> dict[int, Outcome]:
    """Sign and send. Returns what each job waits for. All are of one registry and one group."""
    if not ready:
        return {}
    for job in ready:
        job.job_pass.lease.extend()
    results = ready[0].job_pass.pricing.fit(join([piece for job in ready for piece in job.pieces]))
    needs: dict[ProveCall, GasNeed] = {}
    refusals: dict[int, tuple[ProveCall, CallRefusal]] = {}
    for call, result in results.items():
        if isinstance(result, GasNeed):
            needs[call] = result
        else:
            refusals[call.pieces[0].job] = call, result
    if not refusals:
        return _send(ready, needs, WaitCode.TRANSACTION_PENDING.reason)
    outcomes = prove([job for job in ready if job.key not in refusals])
    for job in ready:
        if job.key in refusals:
            outcomes[job.key] = _reject_or_retry(job.job_pass, *refusals[job.key])
    return outcomes


def prepare(
    job_pass: JobPass, preparation: Preparation, is_needed: Callable[[Destination], bool]
) -> Outcome:
    """Send the preparation, unless a pending one of this route may serve this job as well.

    If one was mined for this job, send another only if a quorum finds that it is needed.
    """
    job = job_pass.job
    if _is_pending(job, preparation):
        return Snooze(preparation.pending_reason, head_hash=job_pass.latest.hash)
    earlier = list(job_pass.transactions(is_preparation=True, succeeded=True).order_by("-pk")[:1])
    wait = wait_for_effect(job_pass, earlier, is_needed, ("first", job.pk)) if earlier else None
    if wait:
        return wait
    call = ProveCall(preparation.call, hops=preparation.hops_in_call)
    need = job_pass.pricing.fit([call])[call]
    if not isinstance(need, GasNeed):
        raise need
    is_obsolete = partial(_is_pending, job, preparation)
    ready = [Ready(job_pass, [])]
    return _send(ready, {call: need}, preparation.pending_reason, is_obsolete)[job.pk]


def _is_pending(job: BlockJob, preparation: Preparation) -> bool:
    """Whether this route has the same preparation pending, or other hops: they may serve too."""
    rows = SentTransaction.objects.filter(
        jobs__source=job.source,
        jobs__destination=job.destination,
        is_preparation=True,
        confirmed=False,
    ).exclude(succeeded=False)  # not only unmined ones: a node that is behind may not know it
    if preparation.hops:
        return rows.filter(hops__gt=0).exists()
    data = ENDED_BY if preparation.call.startswith(ENDED_BY) else preparation.call
    return any(decode_transaction(row.raw).data.startswith(data) for row in rows)


def _send(
    ready: Sequence[Ready],
    needs: Mapping[ProveCall, GasNeed],
    reason: Reason,
    is_obsolete: Callable[[], bool] | None = None,
) -> dict[int, Outcome]:
    """Sign and send the calls. Returns what each job waits for."""
    first = ready[0].job_pass
    payers = {job.key: job.payers for job in ready}
    leases = {job.key: job.job_pass.lease for job in ready}
    try:
        offers = make_offers(first.destination, needs, payers)
        lane = first.context.lane(first.job.destination)
        latest = first.context.latest(first.job.destination)  # read before it may be mined
        lane.sign_and_send(leases, first.registry.address, offers, is_obsolete)
    except DailyBudgetSpentError:  # by others, since the check in `job_pass`
        return {job.key: wait_for_budget(job.job_pass) for job in ready}
    except FeeTooLowError as error:
        batch = min(error.fees_needed)
        own_jobs = [job for job in ready if batch in {query.batch_id for query in job.payers}]
        if len(own_jobs) == len(ready):
            return _wait_or_reject_underfunded(ready, needs, error)
        # Alone it may cost more, and a rejection has to name that price.
        return prove([job for job in ready if job not in own_jobs]) | prove(own_jobs)
    return dict.fromkeys(payers, Snooze(reason, head_hash=latest.hash))


def _wait_or_reject_underfunded(
    ready: Sequence[Ready], calls: Iterable[ProveCall], error: FeeTooLowError
) -> dict[int, Outcome]:
    """Reject batches that cannot pay the next block's price, by quorum for one named block.

    Each node judges by its own tip and estimate. If only one node's price is too high, the next
    pass asks another node first, and the batch is sent at that price.
    """
    if error.waits:
        reason = WaitCode.FEE_RESERVED.reason
        return {job.key: Snooze(reason, job.job_pass.pause) for job in ready}
    payers = {job.key: job.payers for job in ready}
    first = ready[0].job_pass
    pricing, fees_needed = first.pricing, error.fees_needed

    def find_underfunded(node: Destination) -> frozenset[str]:
        fees, costs = node.fees_after_block(block), Counter[str]()
        for call, need in replace(pricing, destination=node).fit(list(calls)).items():
            if not isinstance(need, GasNeed):
                raise need
            costs.update(split_among_batches(call, need.max_cost(fees), payers))
        return underfunded_batches(costs).intersection(fees_needed)

    try:
        block = first.context.latest(first.job.destination).number
        about = "fee", tuple(sorted(fees_needed))
        rejected_batches = pricing.destination.ask_quorum(find_underfunded, about)
    except ChainError:  # such as `NoQuorumError`: other transactions may have changed the answer
        rejected_batches = frozenset()
    for batch in sorted(rejected_batches):
        price = fees_needed[batch]
        others = Query.objects.filter(batch=batch, ended=False).exclude(job__in=payers)
        more = ", and more for its other blocks" if others.exists() else ""
        sentence = (
            f"Proving this may cost {price:,} wei, and less was offered. Submit it again with a "
            f"fee of at least {price}{more}."
        )
        step = StepName.HEADER_ACCUMULATED
        transitions.reject([batch], Failure("fee_too_low", sentence, step, retryable=False))
    reason = WaitCode.FEE_BELOW_GAS_PRICE.reason
    if rejected_batches:
        return dict.fromkeys(payers, Snooze(reason))
    return {job.key: job.job_pass.retry(reason) for job in ready}


def wait_for_budget(job_pass: JobPass) -> Snooze:
    """Not a failure. A job with unconfirmed transactions keeps its short pause to follow them."""
    chain = job_pass.destination.chain
    budget = short_amount(chain.daily_budget or 0, chain.currency)
    sentence = f"The 24-hour budget of {budget} on {chain.name} is spent or reserved."
    pause = None if unconfirmed_transactions(job_pass.job) else job_pass.pause
    return Snooze(Reason(WaitCode.DAILY_BUDGET_SPENT, sentence), pause)


def failed_transactions(job_pass: JobPass) -> list[str]:
    """Hashes of transactions that failed since the first waiting batch was submitted."""
    begin = min(query.batch.submitted for query in job_pass.queries)
    failed_rows = job_pass.transactions(
        succeeded=False, gas_used__isnull=False, confirmed=True, signed__gte=begin
    )
    return list(failed_rows.order_by("pk").values_list("mined_hash", flat=True))


def _reject_or_retry(job_pass: JobPass, call: ProveCall, refusal: CallRefusal) -> Outcome:
    """Reject by quorum and after some attempts: what the call relies on may just have changed."""
    step = StepName.HEADER_ACCUMULATED
    if isinstance(refusal, TransactionRefusedError | BeyondHorizonError):
        failure = Failure(refusal.code, refusal.sentence, step, retryable=False)
        wait = job_pass.retry(Reason(refusal.code, refusal.sentence))
    else:
        failure = Failure(
            WaitCode.REGISTRY_REFUSES, describe_refusal(refusal), step, retryable=True
        )
        wait = job_pass.retry(WaitCode.REGISTRY_REFUSES.reason)
    is_replanned = isinstance(refusal, CallRevertedError) and refusal.data.startswith(REPLANNED)
    if is_replanned or wait.attempts < job_pass.limits.refusals:
        return wait
    pricing = job_pass.pricing

    def try_out(node: Destination) -> None:
        need = replace(pricing, destination=node).fit([call]).get(call)
        if isinstance(need, ChainError):
            raise need

    try:
        pricing.destination.ask_quorum(try_out, ("refused", job_pass.job.pk))
    except ChainError as answer:
        if answer == refusal:
            if isinstance(refusal, BeyondHorizonError):  # header fields may still be proven
                with_account = [query for query in job_pass.queries if query.account]
                job_pass = replace(job_pass, queries=with_account or job_pass.queries)
            return job_pass.reject(failure)
    return wait  # also without a quorum: other transactions may have changed the answer
