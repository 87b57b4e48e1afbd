"""Fetch and check missing proofs, build `prove()` calls for jobs that are ready, and send them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from queries.planning.calls import Anchor, Piece, ProveCall, cut_into_pieces, join_pieces
from queries.planning.dry_runs import CallRefusal, GasEstimate, describe_refusal
from queries.planning.horizon import history_request, horizon_evidence
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
REPLAN_SELECTORS = (
    selector("BlockNotKnown(uint256,bytes32)"),
    selector("BlockNotAccumulated(uint256,bytes32,bytes32)"),
)
ENDED_BY_SELECTOR = selector("endedBy(bytes)")


@dataclass(frozen=True, slots=True)
class ReadyJob:
    """A job whose proofs are fetched, checked and cut into pieces."""

    job_pass: JobPass
    pieces: Sequence[Piece]
    alone: bool = False  # it failed before, and must not make others fail

    @property
    def job_id(self) -> int:
        return self.job_pass.job.pk

    @property
    def payers(self) -> list[Query]:
        """Queries whose batches still pay: a DONE batch was charged before a reorg."""
        queries = self.job_pass.queries
        return [query for query in queries if query.batch.status not in ENDED_STATUSES]

    @property
    def group_key(self) -> tuple[bool, int | None]:
        """Jobs of one group share transactions. Jobs without payers are a group of their own."""
        return bool(self.payers), self.job_id if self.alone else None

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)


def fetch_proofs(
    job_pass: JobPass, anchor: Anchor, missing: FactGroups, *, alone: bool
) -> ReadyJob | Outcome:
    """Fetch and check proofs of the missing facts, and cut them into pieces.

    If they contradict the header's state root, lower the registry's horizon first.
    """
    source, header = job_pass.source, anchor.header
    history = history_request(header) if missing.accounts else []
    accounts = [*missing.account_slots, *history]
    proofs = source.account_proofs(header, accounts, job_pass.lease.extend)
    headers = header, *anchor.newer_headers
    call = horizon_evidence(source, headers, proofs.pop()) if history else None

    def has_later_horizon(node: Destination) -> bool:
        return RegistryFacts(node, job_pass.registry).state_horizon() > header.timestamp

    destination = job_pass.destination
    if call and destination.ask_quorum(has_later_horizon, ("horizon", job_pass.job.pk)):
        if not anchor.hop:
            reason = WaitCode.HORIZON_PENDING.reason
            preparation = Preparation(call, header.number, pending_reason=reason)
            pass_without_payers = replace(job_pass, queries=[])  # the operator pays
            return prepare(pass_without_payers, preparation, has_later_horizon)
        missing, proofs = group_facts(()), []  # `endedBy` takes no hop: accumulate the block first
    rules = destination.chain.gas_rules
    pieces = cut_into_pieces(job_pass.job.pk, anchor, missing, proofs, rules)
    return ReadyJob(job_pass, pieces, alone)


def prove(ready_jobs: Sequence[ReadyJob]) -> dict[int, Outcome]:
    """Sign and send. Returns what each job waits for. All are of one registry and one group."""
    if not ready_jobs:
        return {}
    for ready in ready_jobs:
        ready.job_pass.lease.extend()
    calls = join_pieces([piece for ready in ready_jobs for piece in ready.pieces])
    estimates: dict[ProveCall, GasEstimate] = {}
    refusals: dict[int, tuple[ProveCall, CallRefusal]] = {}
    for call, result in ready_jobs[0].job_pass.pricing.split_to_fit(calls).items():
        if isinstance(result, GasEstimate):
            estimates[call] = result
        else:
            refusals[call.pieces[0].job] = call, result
    if not refusals:
        return _send(ready_jobs, estimates, WaitCode.TRANSACTION_PENDING.reason)
    outcomes = prove([ready for ready in ready_jobs if ready.job_id not in refusals])
    for ready in ready_jobs:
        if ready.job_id in refusals:
            outcomes[ready.job_id] = _reject_or_retry(ready.job_pass, *refusals[ready.job_id])
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
    estimate = job_pass.pricing.split_to_fit([call])[call]
    if not isinstance(estimate, GasEstimate):
        raise estimate
    is_obsolete = partial(_is_pending, job, preparation)
    ready_jobs = [ReadyJob(job_pass, [])]
    return _send(ready_jobs, {call: estimate}, preparation.pending_reason, is_obsolete)[job.pk]


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
    data = ENDED_BY_SELECTOR if preparation.call.startswith(ENDED_BY_SELECTOR) else preparation.call
    return any(decode_transaction(row.raw).data.startswith(data) for row in rows)


def _send(
    ready_jobs: Sequence[ReadyJob],
    estimates: Mapping[ProveCall, GasEstimate],
    reason: Reason,
    is_obsolete: Callable[[], bool] | None = None,
) -> dict[int, Outcome]:
    """Sign and send the calls. Returns what each job waits for."""
    first = ready_jobs[0].job_pass
    payers = {ready.job_id: ready.payers for ready in ready_jobs}
    leases = {ready.job_id: ready.job_pass.lease for ready in ready_jobs}
    try:
        offers = make_offers(first.destination, estimates, payers)
        lane = first.context.lane(first.job.destination)
        latest = first.context.latest(first.job.destination)  # read before it may be mined
        lane.sign_and_send(leases, first.registry.address, offers, is_obsolete)
    except DailyBudgetSpentError:  # by others, since the check in `job_pass`
        return {ready.job_id: wait_for_budget(ready.job_pass) for ready in ready_jobs}
    except FeeTooLowError as error:
        batch = min(error.fees_needed)
        paid_by_batch = [
            ready for ready in ready_jobs if batch in {query.batch_id for query in ready.payers}
        ]
        if len(paid_by_batch) == len(ready_jobs):
            return _wait_or_reject_underfunded(ready_jobs, list(estimates), error)
        # Alone it may cost more, and a rejection has to name that price.
        others = [ready for ready in ready_jobs if ready not in paid_by_batch]
        return prove(others) | prove(paid_by_batch)
    return dict.fromkeys(payers, Snooze(reason, head_hash=latest.hash))


def _wait_or_reject_underfunded(
    ready_jobs: Sequence[ReadyJob], calls: Sequence[ProveCall], error: FeeTooLowError
) -> dict[int, Outcome]:
    """Reject, by quorum at one block, batches that cannot pay the next block's price.

    Each node judges by its own tip and estimate. If only one node's price is too high, the next
    pass asks another node first, and the batch is sent at that price.
    """
    if error.waits:
        reason = WaitCode.FEE_RESERVED.reason
        return {ready.job_id: Snooze(reason, ready.job_pass.pause) for ready in ready_jobs}
    payers = {ready.job_id: ready.payers for ready in ready_jobs}
    first = ready_jobs[0].job_pass
    pricing, fees_needed = first.pricing, error.fees_needed

    def find_underfunded(node: Destination) -> frozenset[str]:
        fees, costs = node.fees_after_block(block), Counter[str]()
        for call, estimate in replace(pricing, destination=node).split_to_fit(calls).items():
            if not isinstance(estimate, GasEstimate):
                raise estimate
            costs.update(split_among_batches(call, estimate.max_cost(fees), payers))
        return underfunded_batches(costs).intersection(fees_needed)

    try:
        block = first.context.latest(first.job.destination).number
        question_key = "fee", tuple(sorted(fees_needed))
        rejected_batches = pricing.destination.ask_quorum(find_underfunded, question_key)
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
    return {ready.job_id: ready.job_pass.retry(reason) for ready in ready_jobs}


def wait_for_budget(job_pass: JobPass) -> Snooze:
    """Snooze; a job with unconfirmed transactions keeps its short pause to follow them."""
    chain = job_pass.destination.chain
    budget = short_amount(chain.daily_budget or 0, chain.currency)
    sentence = f"The 24-hour budget of {budget} on {chain.name} is spent or reserved."
    pause = None if unconfirmed_transactions(job_pass.job) else job_pass.pause
    return Snooze(Reason(WaitCode.DAILY_BUDGET_SPENT, sentence), pause)


def failed_transaction_hashes(job_pass: JobPass) -> list[str]:
    """Hashes of transactions that failed since the first waiting batch was submitted."""
    first_submitted = min(query.batch.submitted for query in job_pass.queries)
    failed_rows = job_pass.transactions(
        succeeded=False, gas_used__isnull=False, confirmed=True, signed__gte=first_submitted
    )
    return list(failed_rows.order_by("pk").values_list("mined_hash", flat=True))


def _reject_or_retry(job_pass: JobPass, call: ProveCall, refusal: CallRefusal) -> Outcome:
    """Reject by quorum and after some attempts: what the call relies on may just have changed."""
    step = StepName.HEADER_ACCUMULATED
    code = WaitCode.REGISTRY_REFUSES
    if isinstance(refusal, TransactionRefusedError | BeyondHorizonError):
        failure = Failure(refusal.code, refusal.sentence, step, retryable=False)
        wait = job_pass.retry(Reason(refusal.code, refusal.sentence))
    else:
        failure = Failure(code, describe_refusal(refusal), step, retryable=True)
        wait = job_pass.retry(code.reason)
    is_replanned = isinstance(refusal, CallRevertedError) and refusal.data.startswith(
        REPLAN_SELECTORS
    )
    if is_replanned or wait.attempts < job_pass.limits.refusals:
        return wait
    pricing = job_pass.pricing

    def raise_refusal(node: Destination) -> None:
        result = replace(pricing, destination=node).split_to_fit([call]).get(call)
        if isinstance(result, ChainError):
            raise result

    try:
        pricing.destination.ask_quorum(raise_refusal, ("refused", job_pass.job.pk))
    except ChainError as answer:
        if answer == refusal:
            if isinstance(refusal, BeyondHorizonError):  # header fields may still be proven
                with_account = [query for query in job_pass.queries if query.account]
                job_pass = replace(job_pass, queries=with_account or job_pass.queries)
            return job_pass.reject(failure)
    return wait  # also without a quorum: other transactions may have changed the answer
