"""Fetch and check missing proofs, build `prove()` calls for jobs that are ready, and send them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from queries.amounts import short_amount
from queries.chain import (
    BeyondHorizonError,
    CallRevertedError,
    ChainClient,
    ChainError,
    EventNotProvableError,
    TransactionRefusedError,
    decode_transaction,
)
from queries.contracts.abi import selector
from queries.database import stored_proofs
from queries.database.chain_records import measure_again_if_beyond
from queries.database.handler import Outcome, Wait
from queries.models import Batch, BlockJob, Query, SentTransaction
from queries.planning.calls import Anchor, PlannedCall, join_pieces
from queries.planning.dry_runs import CallRefusal, GasEstimate, describe_refusal
from queries.planning.horizon import HorizonPreparation, history_request, horizon_evidence
from queries.planning.plan import BlockPlan
from queries.prover.job_pass import JobPass
from queries.prover.outcomes import Reject
from queries.prover.proofs import fetch_account_proofs, store_events, store_later_headers
from queries.prover.readback import wait_for_effect
from queries.proving import AccountProof, Header
from queries.proving.facts import group_facts
from queries.sources import Preparation, Registry, RegistryReader
from queries.statuses import StepName
from queries.transactions.budget import (
    DailyBudgetSpentError,
    FeeTooLowError,
    price_calls,
    underfunded_batches,
)
from queries.transactions.costs import split_among_batches
from queries.transactions.follow import unconfirmed_transactions
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

# A block that the call relies on is gone: plan the job again, and reject no batch.
REPLAN_SELECTORS = (
    selector("BlockNotKnown(uint256,bytes32)"),
    selector("BlockNotAccumulated(uint256,bytes32,bytes32)"),
)


def fetch_proofs(
    job_pass: JobPass, plan: BlockPlan, anchor: Anchor, *, is_isolated: bool
) -> JobPass | Outcome | None:
    """Fetch and check proofs of the missing facts, and cut them into pieces.

    If the header holds the state root from before its block, lower the registry's horizon first.
    """
    missing = plan.missing
    proofs, evidence = _account_proofs(job_pass, plan, anchor)
    if evidence and (is_needed := partial(_has_later_horizon, job_pass, plan.header))():
        if not anchor.hop:
            preparation = HorizonPreparation(evidence, plan.header.number)
            unpaid_pass = replace(job_pass, queries=[])  # the operator pays
            return plan_preparation(unpaid_pass, preparation, is_needed)
        # `lowerHorizon` takes no hop: accumulate the block first.
        missing, proofs = group_facts(()), []
    try:
        pieces = plan.cut_into_pieces(job_pass.job.pk, anchor, missing, proofs)
    except EventNotProvableError as error:
        name = error.data.decode()
        queries = [query for query in job_pass.queries if name in job_pass.facts[query.pk]]
        return Reject.create(queries, Failure.from_error(error))
    store_later_headers(job_pass, lambda: anchor.newer_headers)
    store_events(job_pass, pieces)
    return replace(job_pass, pieces=pieces, is_isolated=is_isolated)


def _account_proofs(
    job_pass: JobPass, plan: BlockPlan, anchor: Anchor
) -> tuple[list[AccountProof], bytes | None]:
    """The proofs of the missing accounts. With them, in one request, the evidence that lowers the
    horizon, if the history of block hashes in the header's state gives it.
    """
    source, header, accounts = job_pass.source, plan.header, plan.missing.account_slots
    if not accounts:
        return [], None
    own_proofs, accounts_to_fetch = stored_proofs.read_accounts(
        job_pass.job, header, accounts, job_pass.lease.extend
    )
    history = history_request(header, job_pass.registry)
    fetched_proofs = fetch_account_proofs(job_pass, accounts_to_fetch, *history)
    measure_again_if_beyond(source.chain.id, header.number)
    headers = header, *anchor.newer_headers
    evidence = None
    if history:
        proof = fetched_proofs.pop()
        evidence = horizon_evidence(source, job_pass.registry, headers, proof)
    by_account = {proof.address: proof for proof in (*own_proofs, *fetched_proofs)}
    return [by_account[account] for account, _ in accounts], evidence


def _has_later_horizon(job_pass: JobPass, header: Header) -> bool:
    """Whether a quorum sees a horizon of the registry after this header."""

    def is_later(node: ChainClient, registry: Registry, timestamp: int) -> bool:
        return RegistryReader(node, registry).state_horizon() > timestamp

    ask = job_pass.destination.ask_quorum
    return ask(is_later, job_pass.registry, header.timestamp)


def plan_preparation(
    job_pass: JobPass, preparation: Preparation, is_needed: Callable[[], bool]
) -> JobPass | Outcome | None:
    """Return the preparation to send, or the wait for a pending one that may serve this job too.

    If one was mined for this job, send another only if a quorum finds that it is needed.
    """
    job = job_pass.job
    if _is_preparation_pending(job, preparation):
        return job_pass.wait_for_block(preparation.pending_reason)
    mined_rows = job_pass.transactions(is_preparation=True, succeeded=True)
    earlier_rows = list(mined_rows.order_by("-pk")[:1])
    wait = wait_for_effect(job_pass, earlier_rows, is_needed) if earlier_rows else None
    return wait or replace(job_pass, preparation=preparation)


def _is_preparation_pending(job: BlockJob, preparation: Preparation) -> bool:
    """Whether this route has a preparation pending that may serve this job too."""
    rows = SentTransaction.objects.filter(
        jobs__source=job.source,
        jobs__destination=job.destination,
        is_preparation=True,
        confirmed=False,
    ).exclude(succeeded=False)  # mined ones count too: a node that is behind may not know them yet
    return any(preparation.is_served_by(decode_transaction(row.raw).data, row.hops) for row in rows)


def send_group(group: Sequence[JobPass]) -> dict[int, Outcome | None]:
    """Join the pieces of these jobs into calls, estimate, sign and send them.

    Returns the outcome of each job. All jobs have the same registry and group. A job with a refused
    call is not sent. Jobs of a batch that cannot pay are priced again, without the others.
    """
    passes = {job_pass.job.pk: job_pass for job_pass in group}
    for job_pass in group:
        job_pass.lease.extend()
    estimates, refusals = _estimate_group(group)
    if refusals:
        others = [job_pass for job_pass in group if job_pass.job.pk not in refusals]
        outcomes = {key: _reject_or_retry(passes[key], *refusals[key]) for key in refusals}
        return outcomes | (send_group(others) if others else {})
    try:
        sent_calls = _sign_and_send(group, estimates)
    except DailyBudgetSpentError:  # another job spent it after `_prove_missing` checked it
        return {job_id: wait_for_budget(job_pass) for job_id, job_pass in passes.items()}
    except FeeTooLowError as error:
        batch_id = min(error.fees_needed)
        payers = [job_pass for job_pass in group if batch_id in job_pass.paying_batch_ids]
        others = [job_pass for job_pass in group if batch_id not in job_pass.paying_batch_ids]
        if others:  # alone it may cost more, and a rejection has to name that price
            return send_group(others) | send_group(payers)
        return _wait_or_reject_underfunded(passes, list(estimates), error)
    sent_jobs = {piece.job_key for call in sent_calls for piece in call.pieces}
    return {
        job_pass.job.pk: job_pass.wait_until_mined()
        if job_pass.preparation or job_pass.job.pk in sent_jobs
        else Wait()  # its call exceeded the budget or the funds: plan it again
        for job_pass in group
    }


def _estimate_group(
    group: Sequence[JobPass],
) -> tuple[dict[PlannedCall, GasEstimate], dict[int, tuple[PlannedCall, CallRefusal]]]:
    """Return the gas of the group's calls and, by job id, the calls that are refused.

    Raises if a preparation is refused, so that the job is planned again.
    """
    first = group[0]
    calls = join_pieces([piece for job_pass in group for piece in job_pass.pieces])
    if preparation := first.preparation:
        calls = [
            PlannedCall(
                preparation.calldata,
                hops=preparation.count_in_call,
                recorded_block=preparation.recorded_block,
                voucher=preparation.voucher,
            )
        ]
    estimates: dict[PlannedCall, GasEstimate] = {}
    refusals: dict[int, tuple[PlannedCall, CallRefusal]] = {}
    for call, result in first.estimator.estimate_and_split(calls).items():
        if isinstance(result, GasEstimate):
            estimates[call] = result
        elif not call.pieces:
            if type(result) is CallRevertedError:
                raise CallRevertedError(describe_refusal(result), result.data)
            raise result
        else:
            refusals[call.pieces[0].job_key] = call, result
    return estimates, refusals


def _sign_and_send(
    group: Sequence[JobPass], estimates: Mapping[PlannedCall, GasEstimate]
) -> Sequence[PlannedCall]:
    first = group[0]
    leases = [job_pass.lease for job_pass in group]
    paying_queries = {job_pass.job.pk: job_pass.paying_queries for job_pass in group}
    head = max((job_pass.destination_head for job_pass in group), key=lambda head: head.number)
    priced_calls = price_calls(first.destination, head, estimates, paying_queries)
    is_obsolete = None
    if first.preparation:
        is_obsolete = partial(_is_preparation_pending, first.job, first.preparation)
    return first.lane.sign_and_send(leases, first.registry.address, priced_calls, is_obsolete)


def wait_for_budget(job_pass: JobPass) -> Wait:
    """Wait; a job with unconfirmed transactions keeps its short pause to follow them."""
    chain = job_pass.destination.chain
    budget = short_amount(chain.daily_budget or 0, chain.currency)
    sentence = f"The 24-hour budget of {budget} on {chain.name} is spent or reserved."
    pause = None if unconfirmed_transactions(job_pass.job) else job_pass.pause
    return Wait(Reason(WaitCode.DAILY_BUDGET_SPENT, sentence), pause)


def _reject_or_retry(job_pass: JobPass, call: PlannedCall, refusal: CallRefusal) -> Outcome:
    """Reject by quorum and after some attempts: what the call relies on may just have changed."""
    step, reason = StepName.HEADER_ACCUMULATED, WaitCode.REGISTRY_REFUSES.reason
    if isinstance(refusal, TransactionRefusedError | BeyondHorizonError):
        failure = Failure.from_error(refusal, step)
        reason = Reason(refusal.code, refusal.sentence)
    else:
        failure = Failure(reason.code, describe_refusal(refusal), step, retryable=True)
    wait = job_pass.retry(reason)
    is_replanned = refusal.data.startswith(REPLAN_SELECTORS)
    if is_replanned or wait.attempts < job_pass.limits.max_refusals:
        return wait

    def raise_refusal(node: ChainClient, _job_id: int) -> None:
        result = replace(job_pass.estimator, destination=node).estimate_and_split([call]).get(call)
        if isinstance(result, ChainError):
            raise result

    try:
        job_pass.destination.ask_quorum(raise_refusal, job_pass.job.pk)
    except ChainError as error:
        if error == refusal:
            is_beyond = isinstance(refusal, BeyondHorizonError)  # header fields may be proven
            account_queries = [query for query in job_pass.queries if query.account and is_beyond]
            return Reject.create(account_queries or job_pass.queries, failure)
    return wait  # also without a quorum: other transactions may have changed the answer


def _wait_or_reject_underfunded(
    passes: Mapping[int, JobPass], calls: Sequence[PlannedCall], error: FeeTooLowError
) -> dict[int, Outcome | None]:
    """Reject, by quorum at one block, batches that cannot pay the next block's price.

    Each node judges by its own tip and estimate. If only one node's price is too high, the next
    pass asks another node first, and sends the batch at that node's price.
    """
    if error.is_temporary:
        reason = WaitCode.FEE_RESERVED.reason
        return {job_id: Wait(reason, job_pass.pause) for job_id, job_pass in passes.items()}
    paying_queries = {job_id: job_pass.paying_queries for job_id, job_pass in passes.items()}
    estimator, fees_needed = next(iter(passes.values())).estimator, error.fees_needed

    def find_underfunded(node: ChainClient, batch_ids: frozenset[str]) -> frozenset[str]:
        gas_price, costs = node.gas_price_after_block(block), Counter[str]()
        estimates = replace(estimator, destination=node).estimate_and_split(calls)
        for call, estimate in estimates.items():
            if not isinstance(estimate, GasEstimate):
                raise estimate
            costs.update(split_among_batches(call, estimate.cost(gas_price), paying_queries))
        # Batches with unconfirmed shares may have more left once these are charged.
        batches = Batch.objects.filter(pk__in=batch_ids).exclude(shares__paid="")
        return frozenset(underfunded_batches(batches, costs))

    try:
        block = estimator.destination.latest_head().number
        batch_ids = estimator.destination.ask_quorum(find_underfunded, frozenset(fees_needed))
    except ChainError:  # such as `NoQuorumError`: other transactions may have changed the answer
        batch_ids = frozenset()
    if batch_ids:
        rejection = Reject(
            {
                batch_id: _fee_too_low_failure(batch_id, fees_needed[batch_id], paying_queries)
                for batch_id in batch_ids
            }
        )
        return dict.fromkeys(paying_queries, rejection)
    reason = WaitCode.FEE_BELOW_GAS_PRICE.reason
    return {job_id: job_pass.retry(reason) for job_id, job_pass in passes.items()}


def _fee_too_low_failure(batch_id: str, price: int, job_ids: Collection[int]) -> Failure:
    others = Query.objects.filter(batch=batch_id, has_ended=False).exclude(job__in=job_ids)
    more = ", and more for its other blocks" if others.exists() else ""
    sentence = (
        f"Proving this may cost {price:,} wei, and less was offered. Submit the batch again with a "
        f"fee of at least {price} wei{more}."
    )
    return Failure("fee_too_low", sentence, StepName.HEADER_ACCUMULATED, retryable=False)
