"""Reject batches that cannot be proven: out of reach, refused, underfunded, or failed."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from accounts.shared.wording import format_count
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BeyondHorizonError,
    CallRevertedError,
    ChainError,
    NoQuorumError,
    TransactionRefusedError,
)
from queries.config.registries import RegistryKind
from queries.contracts.abi import selector
from queries.database.clock import shared_now
from queries.database.leases import Snooze
from queries.models import Query
from queries.planning.anchors import AnchorResult, OutOfReach
from queries.planning.calls import ProveCall
from queries.planning.dry_runs import CallEstimator, CallRefusal, GasEstimate, describe_refusal
from queries.prover.context import JobPass
from queries.prover.outcomes import Outcome, Reject
from queries.proving.headers import Header
from queries.statuses import StepName
from queries.transactions.offers import FeeTooLowError
from queries.transactions.shares import split_among_batches, underfunded_batches
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"

# A block that the call relies on is gone: plan the job again, and reject no batch.
REPLAN_SELECTORS = (
    selector("BlockNotKnown(uint256,bytes32)"),
    selector("BlockNotAccumulated(uint256,bytes32,bytes32)"),
)


def wait_or_reject_underfunded(
    passes: Sequence[JobPass], calls: Sequence[ProveCall], error: FeeTooLowError
) -> dict[int, Outcome]:
    """Reject, by quorum at one block, batches that cannot pay the next block's price.

    Each node judges by its own tip and estimate. If only one node's price is too high, the next
    pass asks another node first, and the batch is sent at that price.
    """
    if error.is_temporary:
        reason = WaitCode.FEE_RESERVED.reason
        return {job_pass.job.pk: Snooze(reason, job_pass.pause) for job_pass in passes}
    paying_queries = {job_pass.job.pk: job_pass.paying_queries for job_pass in passes}
    estimator, fees_needed = passes[0].estimator, error.fees_needed

    def read_costs(node: ChainClient) -> Mapping[str, int]:
        fees, costs = node.fees_after_block(block), Counter[str]()
        for call, estimate in replace(estimator, destination=node).split_to_fit(calls).items():
            if not isinstance(estimate, GasEstimate):
                raise estimate
            costs.update(split_among_batches(call, estimate.max_cost(fees), paying_queries))
        return costs

    try:
        block = estimator.destination.head(known_final=0).number
        batches = estimator.destination.ask_quorum(
            _find_underfunded, frozenset(fees_needed), read_costs=read_costs
        )
    except ChainError:  # such as `NoQuorumError`: other transactions may have changed the answer
        batches = frozenset()
    if batches:
        rejection = Reject(
            {batch: _fee_too_low(batch, fees_needed[batch], paying_queries) for batch in batches}
        )
        return dict.fromkeys(paying_queries, rejection)
    reason = WaitCode.FEE_BELOW_GAS_PRICE.reason
    return {job_pass.job.pk: job_pass.retry(reason) for job_pass in passes}


def _find_underfunded(
    node: ChainClient,
    batches: frozenset[str],
    *,
    read_costs: Callable[[ChainClient], Mapping[str, int]],
) -> frozenset[str]:
    return batches.intersection(underfunded_batches(read_costs(node)))


def _fee_too_low(batch: str, price: int, jobs: Collection[int]) -> Failure:
    others = Query.objects.filter(batch=batch, has_ended=False).exclude(job__in=jobs)
    more = ", and more for its other blocks" if others.exists() else ""
    sentence = (
        f"Proving this may cost {price:,} wei, and less was offered. Submit it again with a fee of "
        f"at least {price}{more}."
    )
    return Failure("fee_too_low", sentence, StepName.HEADER_ACCUMULATED, retryable=False)


def failed_transaction_hashes(job_pass: JobPass) -> list[str]:
    """Hashes of transactions that failed since the first waiting batch was submitted."""
    first_submitted = min(query.batch.submitted_at for query in job_pass.queries)
    failed_rows = job_pass.transactions(
        succeeded=False, gas_used__isnull=False, confirmed=True, signed_at__gte=first_submitted
    )
    return list(failed_rows.order_by("pk").values_list("mined_hash", flat=True))


def reject_or_retry(job_pass: JobPass, call: ProveCall, refusal: CallRefusal) -> Outcome:
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
    if is_replanned or wait.attempts < job_pass.limits.max_refusals:
        return wait
    try:
        job_pass.destination.ask_quorum(
            _raise_refusal, job_pass.job.pk, call=call, estimator=job_pass.estimator
        )
    except ChainError as error:
        if error == refusal:
            if isinstance(refusal, BeyondHorizonError):  # header fields may still be proven
                account_queries = [query for query in job_pass.queries if query.account]
                job_pass = replace(job_pass, queries=account_queries or job_pass.queries)
            return job_pass.reject(failure)
    return wait  # also without a quorum: other transactions may have changed the answer


def _raise_refusal(
    node: ChainClient, _job: int, *, call: ProveCall, estimator: CallEstimator
) -> None:
    result = replace(estimator, destination=node).split_to_fit([call]).get(call)
    if isinstance(result, ChainError):
        raise result


def wait_or_reject_unattested(job_pass: JobPass, reason: Reason) -> Snooze | Reject:
    """Wait for the hash; for attestations at most `attestation_max_age`: signers may be gone."""
    if job_pass.registry.kind is RegistryKind.ATTESTED:
        bound = shared_now() - timedelta(seconds=job_pass.limits.attestation_max_age)
        times = [query.blockhash_available_began_at for query in job_pass.queries]
        if all(start is not None and start < bound for start in times):
            step = StepName.BLOCKHASH_AVAILABLE
            return job_pass.reject(Failure(reason.code, reason.sentence, step, retryable=True))
    return Snooze(reason, job_pass.pause)


def reject_out_of_reach(
    job_pass: JobPass,
    header: Header,
    result: OutOfReach,
    find_anchor: Callable[[ChainClient], AnchorResult],
) -> Outcome:
    """Reject by quorum: one node may be wrong about the header or the nearest known block."""
    number = header.number
    quorum_header = job_pass.source.ask_quorum(ChainClient.header, number)
    if quorum_header != header:
        job_pass.pin(quorum_header)
        return Snooze()
    destination = job_pass.destination
    if not destination.ask_quorum(_is_out_of_reach, job_pass.job.pk, find_anchor=find_anchor):
        raise NoQuorumError.create(destination.chain.name)  # the retry asks another node first
    sentence, step = result.sentence(number), StepName.BLOCKHASH_AVAILABLE
    return job_pass.reject(Failure(result.code, sentence, step, retryable=False))


def _is_out_of_reach(
    node: ChainClient, _job: int, *, find_anchor: Callable[[ChainClient], AnchorResult]
) -> bool:
    return isinstance(find_anchor(node), OutOfReach)


def has_failed_too_often(job_pass: JobPass, hashes: Sequence[str]) -> bool:
    return len(hashes) >= job_pass.limits.max_failed_transactions  # each has cost gas


def reject_failed(job_pass: JobPass, hashes: Sequence[str]) -> Reject:
    count = format_count(len(hashes), "transaction")
    sentence = f"{count} failed on chain; the last is {hashes[-1]}."
    step = StepName.HEADER_ACCUMULATED
    return job_pass.reject(Failure(TRANSACTION_FAILED, sentence, step, retryable=True))
