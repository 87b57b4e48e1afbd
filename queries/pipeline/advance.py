"""One step forward for a block job, from wherever it stands.

Nothing is remembered of what was done but what the chain and the database show, so that a worker
that died in the middle left nothing that the next one would not find.
"""

from datetime import timedelta

from queries import transitions
from queries.chain.errors import RegistryAbsent
from queries.chain.registry_facts import FactRead, TimestampRead
from queries.models import BlockJob, SentTransaction
from queries.pipeline.anchors import (
    AnotherBlockAccumulated,
    CanBeBrought,
    NotKnownYet,
    OutOfReach,
    find_anchor,
)
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import costs_of
from queries.pipeline.following import look_after, unsettled
from queries.pipeline.known import ask_what_is_known
from queries.pipeline.leases import Lease
from queries.pipeline.prove import Ready, bring, make_ready
from queries.pipeline.truth import check_against_proofs
from queries.pipeline.wanted import TIMESTAMP
from queries.pipeline.work import LATER, MUCH_LATER, SOON, Wait, Work
from queries.proving.headers import Header, decode_header
from queries.proving.registry_calls import leaf_of
from queries.routes import RegistryKind
from queries.statuses import StepName
from queries.transitions import Failure

# A sixteenth of what a block has waited: within a block of twelve seconds that is no second.
LATE_BY, LONGEST_PAUSE = 16, timedelta(seconds=4)


def advance(lease: Lease[BlockJob], chains: Chains) -> Wait | Ready | None:
    """None: nobody waits for the job any more."""
    job = lease.row
    queries = list(transitions.open_queries(job).select_related("batch").order_by("pk"))
    if not queries:
        return _settle_the_rest(job, chains)
    registry = chains.registry(job.source, job.destination)
    if registry is None:
        sentence = f"This server no longer proves chain {job.source} on {job.destination}."
        failure = Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)
        transitions.reject({query.batch_id for query in queries}, failure, queries)
        return _settle_the_rest(job, chains)
    return _advance(Work(lease, chains, registry, queries))


def _advance(work: Work) -> Wait | Ready | None:
    header = _final_header(work)
    if isinstance(header, Wait):
        return header
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.INITIAL_STATE)
    transitions.begin(waiting, StepName.BLOCKHASH_AVAILABLE)
    on_its_way = _look_after_transactions(work.job, work.chains)
    unproven = _unproven(work, header)
    if unproven is None:
        return _read_back(work, header)
    if on_its_way:
        return Wait(SOON, "Its transaction is on its way.")
    return _prove(work, header, unproven)


def _prove(work: Work, header: Header, unproven: list[FactRead]) -> Wait | Ready | None:
    with_child = any(isinstance(read, TimestampRead) for read in unproven)
    try:
        anchor = find_anchor(work.chains, work.registry, header, with_child=with_child)
    except AnotherBlockAccumulated:
        work.reject(
            Failure(
                AnotherBlockAccumulated.code,
                AnotherBlockAccumulated.sentence(header.number),
                StepName.HEADER_ACCUMULATED,
                retryable=False,
            )
        )
        return None
    if isinstance(anchor, NotKnownYet):
        return Wait(_until_it_is_known(work), anchor.waits_for)
    if isinstance(anchor, CanBeBrought):
        return bring(work, anchor.call)
    if isinstance(anchor, OutOfReach):
        work.reject(
            Failure(
                anchor.code,
                anchor.sentence(header.number, work.registry),
                StepName.BLOCKHASH_AVAILABLE,
                retryable=False,
            )
        )
        return None
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.BLOCKHASH_AVAILABLE)
    transitions.begin(waiting, StepName.HEADER_ACCUMULATED)
    work.lease.keep()
    return make_ready(work, anchor, unproven)


def _until_it_is_known(work: Work) -> timedelta:
    """Looking may read thousands of words: longer, the longer nothing has come.

    So a block is late by little of what it has waited; who asks for it anew is not.
    """
    begun = [each.blockhash_available_began for each in work.queries]
    last = max((moment for moment in begun if moment), default=None)
    waited = timedelta(0) if None in begun or last is None else shared_now() - last
    return min(max(waited / LATE_BY, SOON), LONGEST_PAUSE)


def _final_header(work: Work) -> Header | Wait:
    job = work.job
    head = work.chains.provable_head(work.registry)
    if not head.is_final(job.block):
        return Wait(SOON, head.why_not_final(job.block))
    if job.header:
        kept = decode_header(bytes.fromhex(job.header))
        # A block that was not final to its chain's nodes may be another one by now.
        if not _may_change(work) or _is_known(work, kept):
            return kept
    header = work.chains.source(job.source).header(job.block)
    job.header, job.block_hash = header.encoded.hex(), header.hash.hex()
    work.lease.held().update(header=job.header, block_hash=job.block_hash)
    return header


def _may_change(work: Work) -> bool:
    finality = work.chains.chain(work.job.source).finality
    return work.registry.kind is RegistryKind.NATIVE or finality is not None


def _is_known(work: Work, header: Header) -> bool:
    return work.facts.leaves([header.number]) == [leaf_of(header)] or work.facts.knows(
        header.number, header.hash
    )


def _look_after_transactions(job: BlockJob, chains: Chains) -> bool:
    rows = unsettled(job)
    if not rows:
        return False
    depth = max(chains.chain(job.destination).confirmations, 1)
    return look_after(chains.lane(job.destination), rows, depth)


def _unproven(work: Work, header: Header) -> list[FactRead] | None:
    """What the registry lacks, which may be the header alone; None: nothing."""
    known = ask_what_is_known(work.facts, header, work.reads.values())
    if known.accumulated:
        waiting = transitions.open_queries(work.job)
        mined = SentTransaction.objects.filter(
            for_jobs__job=work.job, for_jobs__proves_header=True, succeeded=True
        )
        transitions.complete(waiting.exclude(account=""), StepName.HEADER_ACCUMULATED, mined.last())
        transitions.begin(waiting.exclude(account=""), StepName.ACCOUNT_ACCUMULATED)
    return None if known.whole else known.unproven


def _read_back(work: Work, header: Header) -> Wait | None:
    """DONE is what the registry says where it no longer changes."""
    deep = work.chains.destination(work.job.destination).head().number - work.depth + 1
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})
    try:
        words = dict(zip(wanted, work.facts.words(wanted, deep), strict=True))
        kept = work.facts.leaves([header.number], deep) == [leaf_of(header)]
    except RegistryAbsent:  # it was deployed since
        return Wait(SOON, f"Proven; {work.depth} blocks are to confirm it.")
    told = {read: word for read, word in words.items() if word is not None}
    check_against_proofs(work.chains.source(work.job.source), header, told)
    values: dict[int, dict[str, str]] = {}
    for query, reads in work.reads.items():
        found = {name: words[read] for name, read in reads.items()}
        if kept and None not in found.values():
            values[query] = {
                name: word.hex() for name, word in found.items() if word and name != TIMESTAMP
            }
    work.lease.keep()
    _look_after_transactions(work.job, work.chains)  # what they cost is known with the facts
    transitions.finish(values, costs_of(work.job))
    if len(values) < len(work.queries):
        return Wait(SOON, f"Proven; {work.depth} blocks are to confirm it.")
    return _settle_the_rest(work.job, work.chains)


def _settle_the_rest(job: BlockJob, chains: Chains) -> Wait | None:
    """Transactions are followed until they stay, also where nobody waits for them any more."""
    if job.destination not in chains.routes.chains:
        return Wait(MUCH_LATER, f"Chain {job.destination} is not one of this server's any more.")
    _look_after_transactions(job, chains)
    if unsettled(job):
        return Wait(LATER, "Its last transaction is being confirmed.")
    return None
