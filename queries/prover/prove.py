"""Fetch and check missing proofs, build `prove()` calls for jobs that are ready, and send them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from queries.amounts import short_amount
from queries.chain.client import ChainClient
from queries.chain.registry import FactGroups, RegistryFacts, group_facts
from queries.chain.signer import decode_transaction
from queries.config.registries import Registry
from queries.contracts.abi import selector
from queries.database.leases import Outcome, Snooze
from queries.models import BlockJob, Query, SentTransaction
from queries.planning.anchors import Preparation
from queries.planning.calls import Anchor, Piece, ProveCall, cut_into_pieces, join_pieces
from queries.planning.dry_runs import CallRefusal, GasEstimate
from queries.planning.horizon_evidence import history_request, horizon_evidence
from queries.prover.context import JobPass
from queries.prover.readback import wait_for_effect
from queries.prover.rejections import reject_or_retry, wait_or_reject_underfunded
from queries.prover.watch import measure_again_if_beyond
from queries.statuses import ENDED_STATUSES
from queries.transactions.budget import DailyBudgetSpentError
from queries.transactions.follow import unconfirmed_transactions
from queries.transactions.offers import FeeTooLowError, make_offers
from queries.wait_reasons import Reason, WaitCode

ENDED_BY_SELECTOR = selector("endedBy(bytes)")


@dataclass(frozen=True, slots=True)
class ReadyJob:
    """A job whose proofs are fetched, checked and cut into pieces."""

    job_pass: JobPass
    pieces: Sequence[Piece]
    is_isolated: bool = False  # it failed before, and must not make others fail

    @property
    def job_id(self) -> int:
        return self.job_pass.job.pk

    @property
    def paying_queries(self) -> list[Query]:
        """Queries whose batches still pay: a DONE batch was charged before a reorg."""
        queries = self.job_pass.queries
        return [query for query in queries if query.batch.status not in ENDED_STATUSES]

    @property
    def group_key(self) -> tuple[bool, int | None]:
        """Jobs of one group share transactions. Jobs without payment are a group of their own."""
        return bool(self.paying_queries), self.job_id if self.is_isolated else None

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)


def fetch_proofs(
    job_pass: JobPass, anchor: Anchor, missing: FactGroups, *, is_isolated: bool
) -> ReadyJob | Outcome:
    """Fetch and check proofs of the missing facts, and cut them into pieces.

    If they contradict the header's state root, lower the registry's horizon first.
    """
    source, header = job_pass.source, anchor.header
    history = history_request(header) if missing.accounts else []
    accounts = [*missing.account_slots, *history]
    proofs = source.account_proofs(header, accounts, job_pass.lease.extend)
    if accounts:
        measure_again_if_beyond(source.chain.id, header.number)
    headers = header, *anchor.newer_headers
    call = horizon_evidence(source, headers, proofs.pop()) if history else None

    destination = job_pass.destination
    is_needed = partial(
        destination.ask_quorum, _has_later_horizon, job_pass.registry, header.timestamp
    )
    if call and is_needed():
        if not anchor.hop:
            reason = WaitCode.HORIZON_PENDING.reason
            preparation = Preparation(call, header.number, pending_reason=reason)
            unpaid_pass = replace(job_pass, queries=[])  # the operator pays
            return prepare(unpaid_pass, preparation, is_needed)
        missing, proofs = group_facts(()), []  # `endedBy` takes no hop: accumulate the block first
    rules = destination.chain.gas_rules
    pieces = cut_into_pieces(job_pass.job.pk, anchor, missing, proofs, rules)
    return ReadyJob(job_pass, pieces, is_isolated)


def _has_later_horizon(node: ChainClient, registry: Registry, timestamp: int) -> bool:
    return RegistryFacts(node, registry).state_horizon() > timestamp


def prove(ready_jobs: Sequence[ReadyJob]) -> dict[int, Outcome]:
    """Join the pieces of these jobs into calls, estimate and send them.

    Returns what each job waits for. All jobs are of one registry and one group.
    """
    if not ready_jobs:
        return {}
    for ready in ready_jobs:
        ready.job_pass.lease.extend()
    calls = join_pieces([piece for ready in ready_jobs for piece in ready.pieces])
    estimates: dict[ProveCall, GasEstimate] = {}
    refusals: dict[int, tuple[ProveCall, CallRefusal]] = {}
    for call, result in ready_jobs[0].job_pass.estimator.split_to_fit(calls).items():
        if isinstance(result, GasEstimate):
            estimates[call] = result
        else:
            refusals[call.pieces[0].job] = call, result
    if not refusals:
        return _send(ready_jobs, estimates, WaitCode.TRANSACTION_PENDING.reason)
    outcomes = prove([ready for ready in ready_jobs if ready.job_id not in refusals])
    for ready in ready_jobs:
        if ready.job_id in refusals:
            outcomes[ready.job_id] = reject_or_retry(ready.job_pass, *refusals[ready.job_id])
    return outcomes


def prepare(job_pass: JobPass, preparation: Preparation, is_needed: Callable[[], bool]) -> Outcome:
    """Send the preparation, unless a pending one of this route may serve this job as well.

    If one was mined for this job, send another only if a quorum finds that it is needed.
    """
    job = job_pass.job
    if _is_pending(job, preparation):
        return Snooze(preparation.pending_reason, head_hash=job_pass.latest.hash)
    earlier = list(job_pass.transactions(is_preparation=True, succeeded=True).order_by("-pk")[:1])
    wait = wait_for_effect(job_pass, earlier, is_needed) if earlier else None
    if wait:
        return wait
    call = ProveCall(preparation.call, hops=preparation.hops_in_call)
    estimate = job_pass.estimator.split_to_fit([call])[call]
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
    paying_queries = {ready.job_id: ready.paying_queries for ready in ready_jobs}
    leases = {ready.job_id: ready.job_pass.lease for ready in ready_jobs}
    try:
        offers = make_offers(first.destination, estimates, paying_queries)
        lane = first.context.lane(first.job.destination)
        latest = first.context.latest(first.job.destination)  # read before it may be mined
        lane.sign_and_send(leases, first.registry.address, offers, is_obsolete)
    except DailyBudgetSpentError:  # by others, since the check in `job_pass`
        return {ready.job_id: wait_for_budget(ready.job_pass) for ready in ready_jobs}
    except FeeTooLowError as error:
        batch = min(error.fees_needed)
        paid_by_batch = [
            ready
            for ready in ready_jobs
            if batch in {query.batch_id for query in ready.paying_queries}
        ]
        if len(paid_by_batch) == len(ready_jobs):
            passes = [ready.job_pass for ready in ready_jobs]
            return wait_or_reject_underfunded(passes, paying_queries, list(estimates), error)
        # Alone it may cost more, and a rejection has to name that price.
        others = [ready for ready in ready_jobs if ready not in paid_by_batch]
        return prove(others) | prove(paid_by_batch)
    return dict.fromkeys(paying_queries, Snooze(reason, head_hash=latest.hash))


def wait_for_budget(job_pass: JobPass) -> Snooze:
    """Snooze; a job with unconfirmed transactions keeps its short pause to follow them."""
    chain = job_pass.destination.chain
    budget = short_amount(chain.daily_budget or 0, chain.currency)
    sentence = f"The 24-hour budget of {budget} on {chain.name} is spent or reserved."
    pause = None if unconfirmed_transactions(job_pass.job) else job_pass.pause
    return Snooze(Reason(WaitCode.DAILY_BUDGET_SPENT, sentence), pause)
