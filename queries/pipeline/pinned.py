"""Which block a job is about: its header, pinned once it is final.

After a failure it is read again, because the source may have replaced it. Queries whose time
turns out to name another block are settled anew; what else the job serves goes on without them.
"""

import math
from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby

from queries import transitions
from queries.chain.errors import SourceReorganises
from queries.chain.registry import UNKNOWN, RegistryFacts
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
    outside.sort(key=lambda query: query.batch_id)
    for batch, queries in groupby(outside, key=lambda query: query.batch_id):
        transitions.settle_anew(
            batch,
            list(queries),
            work.pause,
            Reason(WaitCode.TIME_LOOKED_UP_ANEW, "The block at a time is looked up again."),
        )
    return True


ANOTHER_BLOCK = Reason(
    WaitCode.ANOTHER_BLOCK_SUSPECTED,
    "The registry holds another header of the block than a node tells; both are read again.",
)


def pinned_headers(work: Work) -> Sequence[Header] | Outcome:
    """The block's; and its child's where it is named by a time, which takes both to prove. None
    where nobody can be served: the source has another block there than the registry.
    """
    job = work.job
    head = work.chains.provable_head(work.registry)
    last = job.block + int(any(query.timestamp is not None for query in work.queries))
    source = work.chains.source(job.source)
    if not head.is_final(last):
        # What was final when the time was looked up: or its block lies below the last final one.
        if last > job.block and have_other_times(work, source.header(head.final_number).timestamp):
            return WITHOUT_THEM
        return Snooze(Reason(WaitCode.BLOCK_NOT_FINAL, head.why_not_final(last)))
    pinned = decode_header(job.header) if job.header else None
    if pinned and job.failures and (now := source.header(job.block)).hash != pinned.hash:
        if _is_accumulated(work, pinned):
            return contradicted(work, now)
        pinned = None
    if pinned and last == job.block:
        return [pinned]
    headers = source.headers(job.block, last)
    if pinned and pinned.hash != headers[0].hash:
        raise SourceReorganises("The source chain is reorganising.")
    if pinned is None:
        _pin(work, headers[0])
    return headers


def contradicted(work: Work, header: Header) -> Outcome:
    """The registry holds another header of the block: by quorum, deep enough, or it is not so."""
    number, registry = header.number, work.registry
    destination, source = (
        work.chains.destination(work.job.destination),
        work.chains.source(work.job.source),
    )
    deep = destination.head().number - work.depth + 1
    leaf = destination.quorum(
        lambda one: RegistryFacts(one, registry).leaves([number], deep)[0],
        ("leaf", registry.address, number),
    )
    if leaf in {UNKNOWN, leaf_of(header)}:
        return work.failed(ANOTHER_BLOCK)
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


def _is_accumulated(work: Work, header: Header) -> bool:
    """Then it stays: in it lie others' proofs."""
    return work.facts.leaves([header.number]) == [leaf_of(header)]
