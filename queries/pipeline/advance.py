"""One step forward for a block job, from wherever it stands.

Nothing is remembered of what was done but what the chain and the database show, so that a worker
that died in the middle left nothing that the next one would not find.
"""

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
from queries.pipeline.costs import share_costs
from queries.pipeline.lane import unsettled
from queries.pipeline.leases import Lease
from queries.pipeline.prove import bring, prove
from queries.pipeline.wanted import TIMESTAMP
from queries.pipeline.work import LATER, SOON, Wait, Work
from queries.proving.headers import Header, decode_header
from queries.proving.registry_calls import leaf_of
from queries.routes import RegistryKind
from queries.statuses import StepName
from queries.transitions import Failure


def advance(lease: Lease[BlockJob], chains: Chains) -> Wait | None:
    """None: nobody waits for the job any more."""
    job = lease.row
    queries = list(transitions.open_queries(job).select_related("batch").order_by("pk"))
    if not queries:
        return _settle_the_rest(job, chains)
    registry = chains.registry(job.source, job.destination)
    if registry is None:
        sentence = f"This server no longer proves chain {job.source} on {job.destination}."
        failure = Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)
        transitions.reject({query.batch_id for query in queries}, failure)
        return None
    return _advance(Work(lease, chains, registry, queries))


def _advance(work: Work) -> Wait | None:
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


def _prove(work: Work, header: Header, unproven: list[FactRead]) -> Wait | None:
    with_child = any(isinstance(read, TimestampRead) for read in unproven)
    try:
        anchor = find_anchor(work.chains, work.registry, header, with_child=with_child)
    except AnotherBlockAccumulated:
        work.reject(_contradicted(header))
        return None
    if isinstance(anchor, NotKnownYet):
        return Wait(SOON, anchor.waits_for)
    if isinstance(anchor, CanBeBrought):
        return bring(work, anchor.call)
    if isinstance(anchor, OutOfReach):
        work.reject(_out_of_reach(work, anchor))
        return None
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.BLOCKHASH_AVAILABLE)
    transitions.begin(waiting, StepName.HEADER_ACCUMULATED)
    work.lease.keep()
    return prove(work, anchor, unproven)


def _final_header(work: Work) -> Header | Wait:
    job = work.job
    last = _last_provable(work)
    if job.block > last:
        sentence = f"Block {job.block:,} is not final yet: the last final one is {last:,}."
        return Wait(SOON, sentence)
    if job.header:
        kept = decode_header(bytes.fromhex(job.header))
        # A block that was not final to its chain's nodes may be another one by now.
        if not _may_change(work) or _is_known(work, kept):
            return kept
    header = work.chains.source(job.source).header(job.block)
    job.header = header.encoded.hex()
    work.lease.held().update(header=job.header)
    return header


def _last_provable(work: Work) -> int:
    """Source and destination of a native route reorganise together, and what DONE waits for
    covers both; so there one confirmation is enough unless the operator asks for more.
    """
    head = work.chains.head(work.job.source)
    if work.registry.kind is RegistryKind.NATIVE:
        return head.number - (work.chains.chain(work.job.source).finality or 0)
    return head.final_number


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
    return chains.lane(job.destination).look_after(rows, depth)


def _unproven(work: Work, header: Header) -> list[FactRead] | None:
    """What the registry lacks, which may be the header alone; None: nothing."""
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})
    words = work.facts.words(wanted)
    accumulated = work.facts.leaves([header.number]) == [leaf_of(header)]
    if accumulated:
        waiting = transitions.open_queries(work.job)
        mined = SentTransaction.objects.filter(job=work.job, proves_header=True, succeeded=True)
        transitions.complete(waiting.exclude(account=""), StepName.HEADER_ACCUMULATED, mined.last())
        transitions.begin(waiting.exclude(account=""), StepName.ACCOUNT_ACCUMULATED)
    unproven = [read for read, word in zip(wanted, words, strict=True) if word is None]
    return unproven if unproven or not accumulated else None


def _read_back(work: Work, header: Header) -> Wait | None:
    """DONE is what the registry says where it no longer changes."""
    deep = work.chains.destination(work.job.destination).head().number - work.depth + 1
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})
    try:
        words = dict(zip(wanted, work.facts.words(wanted, deep), strict=True))
        kept = work.facts.leaves([header.number], deep) == [leaf_of(header)]
    except RegistryAbsent:  # it was deployed since
        return Wait(SOON, f"Proven; {work.depth} blocks are to confirm it.")
    values: dict[int, dict[str, str]] = {}
    for query, reads in work.reads.items():
        found = {name: words[read] for name, read in reads.items()}
        if kept and None not in found.values():
            values[query] = {
                name: word.hex() for name, word in found.items() if word and name != TIMESTAMP
            }
    work.lease.keep()
    share_costs(work.job)
    transitions.finish(values)
    if len(values) < len(work.queries):
        return Wait(SOON, f"Proven; {work.depth} blocks are to confirm it.")
    return _settle_the_rest(work.job, work.chains)


def _settle_the_rest(job: BlockJob, chains: Chains) -> Wait | None:
    """Transactions are followed until they stay, also where nobody waits for them any more."""
    _look_after_transactions(job, chains)
    if unsettled(job):
        return Wait(LATER, "Its last transaction is being confirmed.")
    return None


def _out_of_reach(work: Work, found: OutOfReach) -> Failure:
    return Failure(
        "block_out_of_reach",
        f"Block {work.job.block:,} lies {found.distance:,} blocks below the nearest one that the "
        f"registry can know; at most {work.registry.longest_range:,} headers are chained.",
        StepName.BLOCKHASH_AVAILABLE,
        retryable=False,
    )


def _contradicted(header: Header) -> Failure:
    return Failure(
        "another_block_accumulated",
        f"The registry holds another header of block {header.number:,} than the chain has now; "
        "the first one stays.",
        StepName.HEADER_ACCUMULATED,
        retryable=False,
    )
