"""Reject batches that cannot be proven: out of reach, refused, underfunded, failed, or too old."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import Exists, OuterRef

from accounts.shared.wording import format_count
from queries import transitions
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BeyondHorizonError,
    CallRevertedError,
    ChainError,
    NoQuorumError,
    TransactionRefusedError,
)
from queries.config.limits import Limits
from queries.config.registries import RegistryKind
from queries.contracts.abi import selector
from queries.database.clock import shared_now
from queries.database.leases import Outcome, Snooze, query_ids_of_pass
from queries.models import Batch, BlockJob, LeasedRow, Query, Share
from queries.planning.anchors import AnchorResult, OutOfReach
from queries.planning.calls import ProveCall
from queries.planning.dry_runs import CallEstimator, CallRefusal, GasEstimate, describe_refusal
from queries.prover.context import JobPass
from queries.prover.reorgs import store_header
from queries.proving.headers import Header
from queries.statuses import StepName
from queries.transactions.offers import FeeTooLowError
from queries.transactions.shares import split_among_batches, underfunded_batches
from queries.transitions import Failure
from queries.wait_reasons import EXEMPT_FROM_MAX_AGE, Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"

# A block that the call relies on is gone: plan the job again, and reject no batch.
REPLAN_SELECTORS = (
    selector("BlockNotKnown(uint256,bytes32)"),
    selector("BlockNotAccumulated(uint256,bytes32,bytes32)"),
)


def wait_or_reject_underfunded(
    passes: Sequence[JobPass],
    paying_queries: Mapping[int, list[Query]],
    calls: Sequence[ProveCall],
    error: FeeTooLowError,
) -> dict[int, Outcome]:
    """Reject, by quorum at one block, batches that cannot pay the next block's price.

    Each node judges by its own tip and estimate. If only one node's price is too high, the next
    pass asks another node first, and the batch is sent at that price.
    """
    if error.is_temporary:
        reason = WaitCode.FEE_RESERVED.reason
        return {job_pass.job.pk: Snooze(reason, job_pass.pause) for job_pass in passes}
    first = passes[0]
    estimator, fees_needed = first.estimator, error.fees_needed

    def read_costs(node: ChainClient) -> Mapping[str, int]:
        fees, costs = node.fees_after_block(block), Counter[str]()
        for call, estimate in replace(estimator, destination=node).split_to_fit(calls).items():
            if not isinstance(estimate, GasEstimate):
                raise estimate
            costs.update(split_among_batches(call, estimate.max_cost(fees), paying_queries))
        return costs

    try:
        block = first.context.latest(first.job.destination).number
        rejected_batches = estimator.destination.ask_quorum(
            _find_underfunded, frozenset(fees_needed), read_costs=read_costs
        )
    except ChainError:  # such as `NoQuorumError`: other transactions may have changed the answer
        rejected_batches = frozenset()
    for batch in sorted(rejected_batches):
        price = fees_needed[batch]
        others = Query.objects.filter(batch=batch, has_ended=False).exclude(job__in=paying_queries)
        more = ", and more for its other blocks" if others.exists() else ""
        sentence = (
            f"Proving this may cost {price:,} wei, and less was offered. Submit it again with a "
            f"fee of at least {price}{more}."
        )
        step = StepName.HEADER_ACCUMULATED
        transitions.reject([batch], Failure("fee_too_low", sentence, step, retryable=False))
    reason = WaitCode.FEE_BELOW_GAS_PRICE.reason
    if rejected_batches:
        return dict.fromkeys(paying_queries, Snooze(reason))
    return {job_pass.job.pk: job_pass.retry(reason) for job_pass in passes}


def _find_underfunded(
    node: ChainClient,
    batches: frozenset[str],
    *,
    read_costs: Callable[[ChainClient], Mapping[str, int]],
) -> frozenset[str]:
    return batches.intersection(underfunded_batches(read_costs(node)))


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


def wait_or_reject_unattested(job_pass: JobPass, reason: Reason) -> Outcome:
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
        store_header(job_pass, quorum_header)
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


def reject_failed(job_pass: JobPass, hashes: Sequence[str]) -> Outcome:
    count = format_count(len(hashes), "transaction")
    sentence = f"{count} failed on chain; the last is {hashes[-1]}."
    step = StepName.HEADER_ACCUMULATED
    return job_pass.reject(Failure(TRANSACTION_FAILED, sentence, step, retryable=True))


def counts_towards_age(row: LeasedRow, reason: Reason | None) -> bool:
    """Whether a wait for this reason counts towards `batch_max_age`."""
    if isinstance(row, BlockJob) and row.transactions.filter(confirmed=False).exists():
        return False
    return reason is None or reason.code not in EXEMPT_FROM_MAX_AGE


def reject_old_batches(row: LeasedRow, reason: Reason, limits: Limits) -> None:
    """Reject batches that have been provable for `batch_max_age`.

    Batches with an unconfirmed transaction are left out.
    """
    bound = shared_now() - timedelta(seconds=limits.batch_max_age)
    if row.provable_since is None or row.provable_since > bound:
        return
    shares = Share.objects.filter(batch=OuterRef("batch"), transaction__confirmed=False)
    queries = Query.objects.filter(~Exists(shares), has_ended=False, batch__submitted_at__lte=bound)
    if isinstance(row, BlockJob):
        queries = queries.filter(pk__in=query_ids_of_pass(row))
        step = transitions.first_open_step(queries)
    elif isinstance(row, Batch):
        queries, step = queries.filter(batch=row, job=None), StepName.INITIAL_STATE
    else:
        return
    if expired_queries := list(queries):
        failure = Failure(reason.code, reason.sentence, step, retryable=True)
        transitions.reject({query.batch_id for query in expired_queries}, failure, expired_queries)
