"""One pass over a block job.

The job's state is on chain and in the database, so any worker can continue it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from accounts.wording import format_count
from queries.chain.client import ChainClient
from queries.chain.errors import NoQuorumError
from queries.chain.registry import RegistryBlock
from queries.config.registries import RegistryKind
from queries.database.clock import shared_now
from queries.database.leases import Lease, Snooze, query_ids_of_pass
from queries.models import BlockJob, Query
from queries.planning.anchors import AnchorResult, HashNotKnown, HashUnknowable
from queries.planning.calls import Anchor, Preparation
from queries.planning.plan import BlockPlan
from queries.prover import prove
from queries.prover.context import (
    Findings,
    JobPass,
    Outcome,
    ProverContext,
    Reject,
    route_removed_failure,
)
from queries.prover.finality import pin_final_block, resolve_conflict
from queries.prover.prove import ReadyJob
from queries.prover.readback import (
    check_missing_by_quorum,
    read_back,
    read_confirmed_registry_block,
)
from queries.statuses import StepName
from queries.transactions.follow import follow, unconfirmed_transactions
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"


def run_pass(
    lease: Lease[BlockJob], context: ProverContext, findings: Findings
) -> ReadyJob | Outcome:
    """Run one pass over the job. Its results go into `findings`, even if it raises.

    It follows earlier transactions, and replaces stuck ones. The worker stores the findings and the
    outcome, and sends the pieces or the preparation of a `ReadyJob`.
    """
    job, chains = lease.row, context.routes.chains
    if wait := _wait_for_new_block(job, context):
        return wait
    # Prefetched, so that a batch is read once and not for each of its queries.
    open_queries = Query.objects.filter(pk__in=query_ids_of_pass(job), has_ended=False)
    queries = list(open_queries.order_by("pk").prefetch_related("batch"))
    registry = context.registry(job.source, job.destination)
    if registry is None and queries:
        return Reject.create(queries, route_removed_failure(job.source, job.destination))
    if job.destination not in chains:
        sentence = f"Chain {job.destination} is no longer configured on this server."
        pause = timedelta(seconds=context.limits.max_retry_delay)
        return Snooze(Reason(WaitCode.DESTINATION_REMOVED, sentence), pause)
    context.rotate(job.failures, *chains.keys() & {job.source, job.destination})
    destination_head = context.latest(job.destination)
    # Transactions come first, because all else relies on their receipts, and a node may have lied.
    rows = unconfirmed_transactions(job)
    is_pending = bool(rows) and follow(context.lane(job.destination), rows, destination_head.number)
    is_confirmed = any(row.confirmed and row.succeeded and not row.is_preparation for row in rows)
    if registry is None or not queries:
        return _wait_for_transactions(job, destination_head.hash)
    result = pin_final_block(JobPass(findings, queries, context, registry, destination_head))
    if not isinstance(result, JobPass):
        return result
    return _read_back_or_prove(result, is_confirmed=is_confirmed, is_pending=is_pending)


def _wait_for_new_block(job: BlockJob, context: ProverContext) -> Snooze | None:
    """Keep waiting while the destination has no new block, because facts change only in a new
    block; at most `resend_after`, because unmined transactions then have to be sent again.
    """
    block_hash, wait_start = context.block_waits.get(job.pk, (b"", -math.inf))
    is_early = time.monotonic() < wait_start + context.limits.resend_after
    if job.wait_code and is_early and context.latest(job.destination).hash == block_hash:
        return Snooze(Reason(job.wait_code, job.waits_for), head_hash=block_hash)
    context.block_waits.pop(job.pk, None)
    return None


def _wait_for_transactions(job: BlockJob, block_hash: bytes) -> Snooze | None:
    """Keep the job due while it has transactions, even if no query waits for them."""
    rows = unconfirmed_transactions(job)
    if not rows:
        return None
    is_mined = all(row.mined_block is not None for row in rows)
    code = WaitCode.CONFIRMING if is_mined else WaitCode.TRANSACTION_PENDING
    return Snooze(code.reason, head_hash=block_hash)


def _read_back_or_prove(
    job_pass: JobPass, *, is_confirmed: bool, is_pending: bool
) -> ReadyJob | Outcome:
    """Read back the queries whose facts are all in the registry, and prove the others."""
    # The facts of a confirmed transaction can be read at the confirmation depth.
    confirmed_registry_block = read_confirmed_registry_block(job_pass) if is_confirmed else None
    findings, facts = job_pass.findings, job_pass.facts
    findings.reach(StepName.BLOCKHASH_AVAILABLE)
    if confirmed_registry_block and confirmed_registry_block.is_complete:
        registry_block = confirmed_registry_block
    else:
        registry_block = job_pass.registry_reader.read_block(job_pass.header, job_pass.all_facts)
    if registry_block.is_verified:
        rows = job_pass.transactions(
            job_links__job=job_pass.job, job_links__proves_header=True, succeeded=True
        )
        findings.reach(StepName.ACCOUNT_ACCUMULATED)
        findings.header_transaction = rows.order_by("-pk").first()
    proven_queries = [
        query for query in job_pass.queries if registry_block.has_facts(facts[query.pk].values())
    ]
    proven_pass = replace(job_pass, queries=proven_queries)
    wait = read_back(proven_pass, confirmed_registry_block) if proven_queries else None
    if registry_block.is_complete:
        return wait or _wait_for_transactions(job_pass.job, job_pass.destination_head.hash)
    if is_pending:
        return job_pass.wait_for_block(WaitCode.TRANSACTION_PENDING.reason)
    if registry_block.has_conflict:
        return resolve_conflict(job_pass, job_pass.header)
    unproven_queries = [query for query in job_pass.queries if query not in proven_queries]
    job_pass = replace(job_pass, queries=unproven_queries)
    wait = check_missing_by_quorum(job_pass, registry_block)
    return wait or _prove_missing(job_pass, registry_block)


def _prove_missing(job_pass: JobPass, registry_block: RegistryBlock) -> ReadyJob | Outcome:
    plan = BlockPlan(job_pass.context, job_pass.registry, job_pass.content, registry_block)
    result = plan.find_anchor()

    def has_result(node: ChainClient, _job_id: int, kind: type[AnchorResult]) -> bool:
        return isinstance(plan.find_anchor(node), kind)

    ask = job_pass.destination.ask_quorum
    kind = Preparation if isinstance(result, Preparation) else type(result)
    has_quorum = partial(ask, has_result, job_pass.job.pk, kind)
    if isinstance(result, HashUnknowable):
        return _reject_unknowable(job_pass, result.reason, has_quorum)
    if isinstance(result, HashNotKnown):
        return _wait_for_hash(job_pass, result.reason)
    if isinstance(result, Anchor) and not registry_block.is_verified:
        job_pass.findings.reach(StepName.HEADER_ACCUMULATED)
    job_pass.lease.extend()
    failed_hashes = _failed_transaction_hashes(job_pass)
    if len(failed_hashes) >= job_pass.limits.max_failed_transactions:  # each has cost gas
        count = format_count(len(failed_hashes), "transaction")
        sentence = f"{count} failed on chain; the last is {failed_hashes[-1]}."
        step = StepName.HEADER_ACCUMULATED
        return job_pass.reject(Failure(TRANSACTION_FAILED, sentence, step, retryable=True))
    # Before fetching proofs that could not be sent:
    job_pass.lane.check_not_stopped()
    if job_pass.context.is_budget_spent(job_pass.registry.destination):
        return prove.wait_for_budget(job_pass)
    if isinstance(result, Preparation):
        return prove.plan_preparation(job_pass, result, has_quorum)
    is_isolated = bool(failed_hashes) or job_pass.job.failures >= job_pass.limits.max_refusals
    return prove.fetch_proofs(job_pass, plan, result, is_isolated=is_isolated)


def _failed_transaction_hashes(job_pass: JobPass) -> list[str]:
    """Hashes of transactions that failed since the first waiting batch was submitted."""
    first_submitted = min(query.batch.submitted_at for query in job_pass.queries)
    failed_rows = job_pass.transactions(
        succeeded=False, gas_used__isnull=False, confirmed=True, signed_at__gte=first_submitted
    )
    return list(failed_rows.order_by("pk").values_list("mined_hash", flat=True))


def _wait_for_hash(job_pass: JobPass, reason: Reason) -> Snooze | Reject:
    """Wait for the hash. On an attested route, reject after `attestation_max_age`, because the
    signers may be gone.
    """
    if job_pass.registry.kind is RegistryKind.ATTESTED:
        cutoff = shared_now() - timedelta(seconds=job_pass.limits.attestation_max_age)
        times = [query.blockhash_available_began_at for query in job_pass.queries]
        if all(start is not None and start < cutoff for start in times):
            step = StepName.BLOCKHASH_AVAILABLE
            return job_pass.reject(Failure(reason.code, reason.sentence, step, retryable=True))
    return Snooze(reason, job_pass.pause)


def _reject_unknowable(
    job_pass: JobPass, reason: Reason, has_quorum: Callable[[], bool]
) -> Outcome:
    """Reject by quorum: one node may be wrong about the header, the nearest known block or the
    committees that a registry knows.
    """
    quorum_header = job_pass.source.ask_quorum(ChainClient.header, job_pass.job.block)
    if quorum_header != job_pass.header:
        job_pass.pin(quorum_header)
        return Snooze()
    if not has_quorum():  # the retry asks another node first
        raise NoQuorumError.create(job_pass.destination.chain.name)
    step = StepName.BLOCKHASH_AVAILABLE
    return job_pass.reject(Failure(reason.code, reason.sentence, step, retryable=False))
