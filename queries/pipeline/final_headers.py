"""Which block a job is about: its header, and why that may be another one than it was.

Nobody is rejected for what one node says, nor for what may still be undone; and a header that the
registry has is not given up for another.
"""

from collections.abc import Sequence

from queries.chain.errors import BlockUnknown, RegistryAbsent, SourceReorganises
from queries.chain.registry_facts import UNKNOWN
from queries.chain.second_words import Said
from queries.pipeline.anchors import AnotherBlockAccumulated
from queries.pipeline.chains import NEVER_FINAL_AFTER
from queries.pipeline.times import WITHOUT_THEM, misplaced
from queries.pipeline.work import SOON, Wait, Work
from queries.proving.headers import Header, decode_header
from queries.proving.registry_calls import leaf_of
from queries.routes import RegistryKind
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

ANOTHER_BLOCK = Reason(
    WaitCode.ANOTHER_BLOCK_SUSPECTED,
    "Whether the registry holds another header of the block is looked at.",
)
NODE_BEHIND = Reason(
    WaitCode.OTHER_NODE_BEHIND, "Another node of the destination is not so far yet."
)


def final_headers(work: Work) -> Sequence[Header] | Wait | None:
    """The block's; and its child's where it is named by a time, which takes both to prove. None
    where nobody can be served: the source has another block there than the registry.
    """
    job = work.job
    head = work.chains.provable_head(work.registry)
    last = job.block + int(any(query.timestamp is not None for query in work.queries))
    source = work.chains.source(job.source)
    if not head.is_final(last):
        # What was final when the time was looked up: or its block lies below the last final one.
        if last > job.block and misplaced(work, source.header(head.final_number).timestamp):
            return WITHOUT_THEM
        work.chains.doubt(source, job, NEVER_FINAL_AFTER)
        return Wait(SOON, Reason(WaitCode.BLOCK_NOT_FINAL, head.why_not_final(last)))
    kept = _kept(work)
    if kept and job.failed_lately and (now := source.header(job.block)).hash != kept.hash:
        return contradicted(work, now)
    if kept and last == job.block:
        return [kept]
    headers = source.headers(job.block, last)
    header = headers[0]
    if kept is None:
        source.confirm_chain()
        _keep(work, header)
    elif kept.hash != header.hash:
        raise SourceReorganises("The source chain is reorganising.")
    return headers


def contradicted(work: Work, header: Header) -> Wait | None:
    """Nobody is rejected for what one node says, nor for what may still be undone."""
    destination = work.chains.destination(work.job.destination)
    deep = destination.head().number - work.depth + 1
    (leaf,) = work.facts.leaves([header.number], deep)
    if leaf in {UNKNOWN, leaf_of(header)}:
        return Wait(SOON, ANOTHER_BLOCK)
    said = Said(deep, {}, header.number, leaf, deep + work.depth - 1)
    try:
        work.chains.second_words(work.job.destination).check(work.registry, said, by_two=True)
    except BlockUnknown:
        destination.ask_another_first()  # the one that tells of such a block may make it up
        return Wait(SOON, NODE_BEHIND)
    # The header is one node's word as well.
    told = work.chains.source(work.job.source).told_headers(header.number)
    for each in told:
        if leaf_of(each) == leaf:
            _keep(work, each)
            return Wait(SOON, ANOTHER_BLOCK)
    enough = min(2, len(work.chains.chain(work.job.source).nodes))
    if sum(each.hash == header.hash for each in told) < enough:
        return Wait(SOON, ANOTHER_BLOCK)
    return work.reject(
        Failure(
            AnotherBlockAccumulated.code,
            AnotherBlockAccumulated.sentence(header.number),
            StepName.HEADER_ACCUMULATED,
            retryable=False,
        )
    )


def _kept(work: Work) -> Header | None:
    """What the job keeps, where that is the block still."""
    if not work.job.header:
        return None
    kept = decode_header(work.job.header)
    if work.job.failed_lately:
        # It may be what is wrong: it was undone since, or a node made it up. But one that the
        # registry has stays, for in it lie others' proofs.
        stays = _is_accumulated(work, kept)
    else:
        # One that was not final to its chain's nodes may be another one by now.
        stays = not _may_change(work) or _is_known(work, kept)
    return kept if stays else None


def _keep(work: Work, header: Header) -> None:
    work.job.header, work.job.block_hash = header.encoded, header.hash.hex()
    work.lease.held().update(header=work.job.header, block_hash=work.job.block_hash)


def _may_change(work: Work) -> bool:
    finality = work.chains.chain(work.job.source).finality
    return work.registry.kind is RegistryKind.NATIVE or finality is not None


def _is_accumulated(work: Work, kept: Header) -> bool:
    destination = work.chains.destination(work.job.destination)
    try:
        (leaf,) = work.facts.leaves([kept.number])
    except RegistryAbsent:
        destination.confirm_chain()
        raise
    destination.confirm_chain()
    return leaf == leaf_of(kept)


def _is_known(work: Work, header: Header) -> bool:
    return work.facts.leaves([header.number]) == [leaf_of(header)] or work.facts.knows(
        header.number, header.hash
    )
