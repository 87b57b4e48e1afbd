"""Prove block jobs, together with other ready jobs of their route.

A job's state is on chain and in the database, so any worker can continue it. Findings of a pass are
stored even if a later stage fails.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import ClassVar

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from accounts.wording import format_count
from queries.chain import ChainClient, NoQuorumError
from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.database.handler import Handler, Outcome, Wait
from queries.database.leases import Lease, claim_one
from queries.models import BlockJob, Fact, JobTransaction, Query
from queries.planning.anchors import AnchorResult
from queries.planning.calls import Anchor
from queries.planning.plan import BlockPlan
from queries.prover.finality import pin_final_block, resolve_conflict
from queries.prover.job_pass import Findings, JobPass, query_ids_of_pass
from queries.prover.outcomes import Reject, reject_if_too_old, route_removed_failure
from queries.prover.prove import fetch_proofs, plan_preparation, send_group, wait_for_budget
from queries.prover.readback import (
    check_missing_by_quorum,
    read_back,
    read_confirmed_registry_block,
)
from queries.sources import HashNotKnown, Preparation, RegistryBlock
from queries.statuses import StepName
from queries.transactions.context import ProverContext
from queries.transactions.follow import follow, unconfirmed_transactions
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

TRANSACTION_FAILED = "transaction_failed"


class JobHandler(Handler[BlockJob, ProverContext]):
    """Makes passes over block jobs."""

    model = BlockJob
    # While one of its transactions is not confirmed: a dropped one that is not resent blocks all
    # higher nonces.
    stays_due: ClassVar[Q] = Q(
        Exists(Query.objects.filter(job=OuterRef("pk"), has_ended=False))
    ) | Q(Exists(JobTransaction.objects.filter(job=OuterRef("pk"), transaction__confirmed=False)))

    def process(self, lease: Lease[BlockJob], context: ProverContext) -> None:
        """Run a pass over the job, and prove it together with other ready jobs of its route."""
        groups: dict[object, list[JobPass]] = {}
        for job_pass in self._gather_ready_passes(lease, context):
            groups.setdefault(job_pass.group_key, []).append(job_pass)
        for group in groups.values():
            leases = [job_pass.lease for job_pass in group]
            with self.reschedule_on_error(leases, context.limits):
                outcomes = send_group(group)
                for ready_lease in leases:
                    self.release(ready_lease, outcomes[ready_lease.row.pk], context.limits)

    def _gather_ready_passes(
        self, first_lease: Lease[BlockJob], context: ProverContext
    ) -> list[JobPass]:
        """Return jobs to prove together: a full transaction, or those ready in `gather_seconds`."""
        limits, job = context.limits, first_lease.row
        deadline = time.monotonic() + limits.gather_seconds
        ready_passes, seen_jobs = list[JobPass](), set[int]()
        jobs_of_route = BlockJob.objects.filter(source=job.source, destination=job.destination)
        lease: Lease[BlockJob] | None = first_lease
        while lease is not None:
            seen_jobs.add(lease.row.pk)
            if job_pass := self._run_and_store_pass(lease, context):
                ready_passes.append(job_pass)
            if not ready_passes or time.monotonic() > deadline:
                break
            # Other jobs of the route may need the same preparation, so it is sent at once.
            is_preparing = any(job_pass.preparation for job_pass in ready_passes)
            max_gas = context.client(job.destination).gas_rules.items_gas
            if is_preparing or sum(job_pass.gas for job_pass in ready_passes) > max_gas:
                break
            # Without `exclude`, a job that was just snoozed could be claimed again.
            lookahead = timedelta(seconds=limits.initial_retry_delay)
            lease = claim_one(jobs_of_route.exclude(pk__in=seen_jobs), lookahead=lookahead)
        return ready_passes

    def _run_and_store_pass(self, lease: Lease[BlockJob], context: ProverContext) -> JobPass | None:
        """Run a pass, store what it found, and release the job unless it is ready to be proven.

        The findings of a ready job are stored before it is proven: its header has to be pinned
        before its proofs are paid for, and pages show its step while other jobs are gathered.
        """
        findings = Findings(lease)
        with self.reschedule_on_error([lease], context.limits, findings.store):
            result = run_pass(lease, context, findings)
            if isinstance(result, JobPass):
                findings.store()
                return result
            with transaction.atomic():
                findings.store()
                self.release(lease, result, context.limits)
        return None

    def close(self, lease: Lease[BlockJob]) -> None:
        with transaction.atomic():
            super().close(lease)
            # Clear the header, because the chain may still replace the block. A block with proven
            # facts keeps it for the proof file.
            proven_facts = Fact.objects.filter(job=OuterRef("pk"), proven_at__isnull=False)
            jobs = BlockJob.objects.filter(~Exists(proven_facts), pk=lease.row.pk, due_at=None)
            jobs.exclude(header=b"", block_hash="").update(header=b"", block_hash="")

    def is_aging(self, row: BlockJob) -> bool:
        return not row.transactions.filter(confirmed=False).exists()

    def outcome_if_too_old(
        self, lease: Lease[BlockJob], reason: Reason, limits: Limits
    ) -> Outcome | None:
        queries = Query.objects.filter(pk__in=query_ids_of_pass(lease.row))
        return reject_if_too_old(lease.row, queries, reason, limits)


def run_pass(
    lease: Lease[BlockJob], context: ProverContext, findings: Findings
) -> JobPass | Outcome | None:
    """Run one pass over the job. Its results go into `findings`, even if it raises.

    It follows earlier transactions, and replaces stuck ones. The worker stores the findings and the
    outcome, and sends the pieces or the preparation of a pass that is ready.
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
        return Wait(Reason(WaitCode.DESTINATION_REMOVED, sentence), pause)
    context.rotate(job.failures, *chains.keys() & {job.source, job.destination})
    destination_head = context.latest(job.destination)
    # Transactions come first, because all else relies on their receipts, and a node may have lied.
    rows = unconfirmed_transactions(job)
    is_pending = bool(rows) and follow(context.lane(job.destination), rows, destination_head.number)
    is_confirmed = any(row.confirmed and row.succeeded and not row.is_preparation for row in rows)
    if registry is None or not queries:
        return _wait_for_transactions(job, context, destination_head.hash)
    result = pin_final_block(JobPass(findings, queries, context, registry, destination_head))
    if not isinstance(result, JobPass):
        return result
    return _read_back_or_prove(result, is_confirmed=is_confirmed, is_pending=is_pending)


def _wait_for_new_block(job: BlockJob, context: ProverContext) -> Wait | None:
    """Keep waiting while the destination has no new block, because facts change only in a new
    block; at most `resend_after`, because unmined transactions then have to be sent again.
    """
    block_hash, wait_start = context.block_waits.get(job.pk, (b"", -math.inf))
    is_early = time.monotonic() < wait_start + context.limits.resend_after
    if job.wait_code and is_early and context.latest(job.destination).hash == block_hash:
        reason = Reason(job.wait_code, job.waits_for)
        return context.wait_for_block(job, reason, block_hash)
    context.block_waits.pop(job.pk, None)
    return None


def _wait_for_transactions(job: BlockJob, context: ProverContext, block_hash: bytes) -> Wait | None:
    """Keep the job due while it has transactions, even if no query waits for them."""
    rows = unconfirmed_transactions(job)
    if not rows:
        return None
    is_mined = all(row.mined_block is not None for row in rows)
    code = WaitCode.CONFIRMING if is_mined else WaitCode.TRANSACTION_PENDING
    return context.wait_for_block(job, code.reason, block_hash)


def _read_back_or_prove(
    job_pass: JobPass, *, is_confirmed: bool, is_pending: bool
) -> JobPass | Outcome | None:
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
        head_hash = job_pass.destination_head.hash
        return wait or _wait_for_transactions(job_pass.job, job_pass.context, head_hash)
    if is_pending:
        return job_pass.wait_for_block(WaitCode.TRANSACTION_PENDING.reason)
    if registry_block.has_conflict:
        return resolve_conflict(job_pass, job_pass.header)
    unproven_queries = [query for query in job_pass.queries if query not in proven_queries]
    job_pass = replace(job_pass, queries=unproven_queries)
    wait = check_missing_by_quorum(job_pass, registry_block)
    return wait or _prove_missing(job_pass, registry_block)


def _prove_missing(job_pass: JobPass, registry_block: RegistryBlock) -> JobPass | Outcome | None:
    plan = BlockPlan(job_pass.context, job_pass.registry, job_pass.content, registry_block)
    result = plan.find_anchor()

    def agrees(node: ChainClient, _job_id: int, kind: type[AnchorResult]) -> bool:
        """Whether the node gives an answer of this kind too; without a hash, the same reason."""
        answer = plan.find_anchor(node)
        if isinstance(answer, HashNotKnown) and isinstance(result, HashNotKnown):
            return answer.is_permanent and answer.reason.code == result.reason.code
        return isinstance(answer, kind)

    kind = Preparation if isinstance(result, Preparation) else type(result)
    has_quorum = partial(job_pass.destination.ask_quorum, agrees, job_pass.job.pk, kind)
    if isinstance(result, HashNotKnown):
        if result.is_permanent:
            return _reject_unprovable(job_pass, result.reason, has_quorum)
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
        return wait_for_budget(job_pass)
    if isinstance(result, Preparation):
        return plan_preparation(job_pass, result, has_quorum)
    is_isolated = bool(failed_hashes) or job_pass.job.failures >= job_pass.limits.max_refusals
    return fetch_proofs(job_pass, plan, result, is_isolated=is_isolated)


def _failed_transaction_hashes(job_pass: JobPass) -> list[str]:
    """Hashes of transactions that failed since the first waiting batch was submitted."""
    first_submitted = min(query.batch.submitted_at for query in job_pass.queries)
    failed_rows = job_pass.transactions(
        succeeded=False, gas_used__isnull=False, confirmed=True, signed_at__gte=first_submitted
    )
    return list(failed_rows.order_by("pk").values_list("mined_hash", flat=True))


def _wait_for_hash(job_pass: JobPass, reason: Reason) -> Wait | Reject:
    """Wait for the hash. Reject once the kind of registry has nothing to wait for."""
    max_wait = job_pass.registry.max_wait(job_pass.limits)
    if max_wait is not None:
        cutoff = shared_now() - timedelta(seconds=max_wait)
        times = [query.blockhash_available_began_at for query in job_pass.queries]
        if all(start is not None and start < cutoff for start in times):
            step = StepName.BLOCKHASH_AVAILABLE
            return job_pass.reject(Failure(reason.code, reason.sentence, step, retryable=True))
    return Wait(reason, job_pass.pause)


def _reject_unprovable(
    job_pass: JobPass, reason: Reason, has_quorum: Callable[[], bool]
) -> Outcome | None:
    """Reject by quorum: one node may be wrong about the header, the nearest known block or the
    committees that a registry knows.
    """
    quorum_header = job_pass.source.ask_quorum(ChainClient.header, job_pass.job.block)
    if quorum_header != job_pass.header:
        job_pass.pin(quorum_header)
        return Wait()
    if not has_quorum():  # the retry asks another node first
        raise NoQuorumError.create(job_pass.destination.chain.name)
    step = StepName.BLOCKHASH_AVAILABLE
    return job_pass.reject(Failure(reason.code, reason.sentence, step, retryable=False))
