"""One pass over a block job.

All of its state is on the chain and in the database, so that any worker can go on with it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from queries import transitions
from queries.chain.errors import NoQuorum
from queries.chain.reader import ChainHead
from queries.chain.registry import Known, missing
from queries.chain.sender import Destination
from queries.config.registries import RegistryKind
from queries.database.clock import shared_now
from queries.database.leases import Lease, Outcome, Snooze, queries_of_pass
from queries.models import BlockJob
from queries.planning.anchors import AnchorSearch, Found, NotKnownYet, OutOfReach, Preparation
from queries.planning.calls import Anchor
from queries.prover import prove
from queries.prover.context import Chains, Work, route_removed
from queries.prover.prove import Ready
from queries.prover.readback import read_back
from queries.prover.reorgs import confirm_missing, pin_header, pinned_header, settle_contradiction
from queries.proving.headers import Header
from queries.statuses import StepName
from queries.transactions.lane import unsettled
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode


def advance(lease: Lease[BlockJob], chains: Chains) -> Ready | Outcome:
    """Make one pass over the job. None: nothing is left to do.

    A pass reads each fact, and facts change only with a new block. So a job that waits for a block
    is skipped until there is one, or until its transactions may have to be sent again.
    """
    job = lease.row
    block, began = chains.unchanged.get(job.pk, (b"", -math.inf))
    is_early = time.monotonic() < began + chains.limits.resend_after
    if job.wait_code and is_early and chains.newest(job.destination).hash == block:
        return Snooze(Reason(job.wait_code, job.waits_for), since=block)
    chains.unchanged.pop(job.pk, None)
    return _pass_over(lease, chains)


def _pass_over(lease: Lease[BlockJob], chains: Chains) -> Ready | Outcome:
    job = lease.row
    # Prefetched, so that a batch is read once and not for each of its queries.
    rows = transitions.open_queries(job).filter(pk__in=queries_of_pass(job)).order_by("pk")
    queries = list(rows.prefetch_related("batch"))
    registry = chains.registry(job.source, job.destination)
    if registry is None and queries:
        failure = route_removed(job.source, job.destination)
        transitions.reject({query.batch_id for query in queries}, failure, queries)
    if job.destination not in chains.routes.chains:
        sentence = f"Chain {job.destination} is no longer configured on this server."
        pause = timedelta(seconds=chains.limits.retry_longest)
        return Snooze(Reason(WaitCode.CHAIN_LEFT, sentence), pause)
    chains.ask_first(job.failures, *chains.routes.chains.keys() & {job.source, job.destination})
    newest = chains.newest(job.destination)
    # First, because all else relies on their receipts, and a node may have lied about those.
    sent, depth = unsettled(job), chains.depth(job.destination)
    on_its_way = bool(sent) and chains.lane(job.destination).follow(sent, depth, newest.number)
    if registry is None or not queries:
        return _until_settled(job, newest)
    work = Work(lease, chains, registry, newest, queries)
    header = pinned_header(work)
    if not isinstance(header, Header):
        return header
    return _go_on(work, header, on_its_way=on_its_way)


def _until_settled(job: BlockJob, newest: ChainHead) -> Outcome:
    """Its transactions are followed even if no query waits for it."""
    return Snooze(WaitCode.CONFIRMING.reason, since=newest.hash) if unsettled(job) else None


def _go_on(work: Work, header: Header, *, on_its_way: bool) -> Ready | Outcome:
    """Read back the queries whose facts are all in the registry, and prove the others."""
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.INITIAL_STATE)
    transitions.begin(waiting, StepName.BLOCKHASH_AVAILABLE)
    known = work.facts.known(header, work.reads.values())
    if known.accumulated:
        _note_accumulated(work)
    proven = [each for each in work.queries if known.holds(work.reads[each.pk].values())]
    wait = read_back(replace(work, queries=proven), header) if proven else None
    if known.whole:
        return wait or _until_settled(work.job, work.newest)
    if on_its_way:
        return Snooze(WaitCode.TRANSACTION_PENDING.reason, since=work.newest.hash)
    if known.of_another_block:
        return settle_contradiction(work, header)
    work = replace(work, queries=[each for each in work.queries if each not in proven])
    return confirm_missing(work, header, known) or _prove(work, header, known)


def _note_accumulated(work: Work) -> None:
    mined = work.sent(for_jobs__job=work.job, for_jobs__proves_header=True, succeeded=True)
    row = mined.order_by("-pk").first()
    of_accounts = transitions.open_queries(work.job).exclude(account="")
    transitions.complete(of_accounts, StepName.HEADER_ACCUMULATED, row)
    transitions.begin(of_accounts, StepName.ACCOUNT_ACCUMULATED)


def _prove(work: Work, header: Header, known: Known) -> Ready | Outcome:
    def find(view: Destination | None = None) -> Found:
        return AnchorSearch.of(work.chains, work.registry, view).find(header, known)

    anchor = find()
    if isinstance(anchor, NotKnownYet):
        return _wait_for_hash(work, anchor)
    if isinstance(anchor, OutOfReach):
        return _reject_out_of_reach(work, header, anchor, find)
    if isinstance(anchor, Anchor):
        waiting = transitions.open_queries(work.job)
        transitions.complete(waiting, StepName.BLOCKHASH_AVAILABLE)
        transitions.begin(waiting, StepName.HEADER_ACCUMULATED)
    work.lease.keep()
    failed = prove.failed_transactions(work)
    if len(failed) >= work.limits.failed_transactions:  # which has cost gas
        sentence = f"{len(failed)} transactions were mined and failed, the last one {failed[-1]}."
        step = StepName.HEADER_ACCUMULATED
        return work.reject(Failure(prove.TRANSACTION_FAILED, sentence, step, retryable=True))
    if work.chains.day_is_spent(work.job.destination):
        return prove.wait_for_the_day(work)  # before proofs are fetched that could not be sent
    if isinstance(anchor, Preparation):
        return prove.prepare(work, anchor, lambda one: isinstance(find(one), Preparation))
    alone = bool(failed) or work.job.failures >= work.limits.refusals
    return prove.fetch_proofs(work, anchor, missing(known.unproven), alone=alone)


def _wait_for_hash(work: Work, anchor: NotKnownYet) -> Outcome:
    """Wait for the hash; for attestations at most `attestation_max_age`: signers may be gone."""
    if work.registry.kind is RegistryKind.ATTESTED:
        bound = shared_now() - timedelta(seconds=work.limits.attestation_max_age)
        began = [query.blockhash_available_began for query in work.queries]
        if all(moment is not None and moment < bound for moment in began):
            step = StepName.BLOCKHASH_AVAILABLE
            return work.reject(Failure(anchor.why.code, anchor.why.sentence, step, retryable=True))
    return Snooze(anchor.why, work.pause)


def _reject_out_of_reach(
    work: Work, header: Header, found: OutOfReach, find: Callable[[Destination], Found]
) -> Outcome:
    """By quorum: one node alone may be wrong about the header or the nearest known block."""
    source = work.chains.source(work.job.source)
    theirs = source.quorum(lambda one: one.header(header.number), ("header", header.number))
    if theirs != header:
        pin_header(work, theirs)
        return Snooze()

    def is_out_of_reach(one: Destination) -> bool:
        return isinstance(find(one), OutOfReach)

    destination = work.chains.destination(work.job.destination)
    if not destination.quorum(is_out_of_reach, ("out of reach", work.job.pk)):
        raise NoQuorum.of(destination.chain.name)  # another node is asked first then
    sentence, step = found.sentence(header.number), StepName.BLOCKHASH_AVAILABLE
    return work.reject(Failure(found.code, sentence, step, retryable=False))
