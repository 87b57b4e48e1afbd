"""Which block a job is about: its header, pinned once it is final.

After a failure it is read again, because the source may have replaced it. Queries whose time
turns out to name another block are settled anew; what else the job serves goes on without them.
"""

import math
from datetime import timedelta

from queries import transitions
from queries.chain.registry import UNKNOWN, RegistryFacts
from queries.chain.sender import Destination
from queries.pipeline.anchors import AnotherBlockAccumulated
from queries.pipeline.work import Outcome, Snooze, Work
from queries.proving.headers import Header, decode_header
from queries.proving.registry_calls import leaf_of
from queries.statuses import ENDED, StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

WITHOUT_THEM = Snooze(after=timedelta(0))  # looked at again with the queries that are left


def have_other_times(work: Work, first: int, end: float = math.inf) -> bool:
    """Whether some queries name times outside of these; they are settled anew."""
    outside = [
        query
        for query in work.queries
        if query.timestamp is not None
        and not first <= query.timestamp < end
        and query.batch.status not in ENDED  # what a DONE batch shows stays
    ]
    if not outside:
        return False
    work.lease.keep()
    work.chains.source(work.job.source).ask_next_first()
    why = Reason(WaitCode.TIME_LOOKED_UP_ANEW, "The block at a time is looked up again.")
    for batch in sorted({query.batch_id for query in outside}):
        some = [query for query in outside if query.batch_id == batch]
        transitions.settle_anew(batch, some, work.pause, why)
    return True


ANOTHER_BLOCK = Reason(
    WaitCode.ANOTHER_BLOCK_SUSPECTED,
    "The registry holds another header of the block than a node tells; both are read again.",
)


def pinned_header(work: Work) -> Header | Outcome:
    """The job's header; or the outcome of this pass, where there is nothing to prove."""
    job = work.job
    source, head = work.chains.source(job.source), work.chains.provable_head(work.registry)
    by_time = any(query.timestamp is not None for query in work.queries)
    last = job.block + int(by_time)  # a time is proven by the block's child as well
    if not head.is_final(last):
        # A time before the last final block's names a block below that one.
        if by_time and have_other_times(work, source.header(head.final_number).timestamp):
            return WITHOUT_THEM
        return Snooze(Reason(WaitCode.BLOCK_NOT_FINAL, head.why_not_final(last)))
    pinned = decode_header(job.header) if job.header else None
    if pinned and not by_time and not job.failures:
        return pinned
    header, *child = source.headers(job.block, last)
    if pinned is None or pinned.hash != header.hash:
        # One that is accumulated stays: others' proofs lie in it.
        if pinned and work.facts.leaves([job.block]) == [leaf_of(pinned)]:
            return contradicted(work, header)
        _pin(work, header)
    if child and have_other_times(work, header.timestamp, child[0].timestamp):
        return WITHOUT_THEM
    return header


def contradicted(work: Work, header: Header) -> Outcome:
    """The registry holds another header of the block: by quorum, deep enough, or it is not so."""
    number, registry = header.number, work.registry
    newest = work.chains.newest(work.job.destination)

    def leaf_by(one: Destination) -> bytes:
        return RegistryFacts(one, registry).leaves([number], work.deep_block(one, newest))[0]

    destination = work.chains.destination(work.job.destination)
    leaf = destination.quorum(leaf_by, ("leaf", registry.address, number))
    if leaf in {UNKNOWN, leaf_of(header)}:
        return work.failed(ANOTHER_BLOCK)
    source = work.chains.source(work.job.source)
    theirs = source.quorum(lambda one: one.header(number), ("header", number))
    if leaf_of(theirs) == leaf:
        _pin(work, theirs)
        return Snooze(ANOTHER_BLOCK)
    return work.reject(
        Failure(
            AnotherBlockAccumulated.code,
            AnotherBlockAccumulated.sentence(number),
            StepName.HEADER_ACCUMULATED,
            retryable=False,
        )
    )


def _pin(work: Work, header: Header) -> None:
    work.job.header, work.job.block_hash = header.encoded, header.hash.hex()
    work.lease.held().update(header=work.job.header, block_hash=work.job.block_hash)
