"""Queries whose block was named by a time, held against the block before anything is sent for it.

Settling takes the last block at a time where the one after it is final. Both may be others by the
time they are proven: where a chain reorganises deeper than the finality that its operator set, and
where one of its nodes lied. Nothing can be checked of a block that is asked for by its number but
that it is one; so a node that answers for another chain for some seconds has a batch settled on
that chain's times, and the other nodes' headers then show it.

The registry would refuse the proof, or the block be out of reach, for which the batch is not to
blame. So it is settled anew for these queries; what else the job serves goes on without them.
"""

import math
from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby

from queries import transitions
from queries.chain.errors import NodesLie
from queries.models import Query
from queries.pipeline.work import TRIES_OF_LIES, Wait, Work, pause_after
from queries.statuses import ENDED, StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

WITHOUT_THEM = Wait(timedelta(0))  # looked at again with the queries that are left


def misplaced(work: Work, first: int, end: float = math.inf) -> bool:
    """Whether some of the job's queries name times outside of these, from the first one on: those
    at which its block is the last one, or what is known of them.
    """
    outside = [
        query
        for query in work.queries
        if query.timestamp is not None and not first <= query.timestamp < end
    ]
    if not outside:
        return False
    work.lease.keep()
    # The times may be a node's word as well, and it would have the same said again and again.
    work.chains.source(work.job.source).ask_another_first()
    # One statement for each batch, which waits as long as the most often misplaced of its queries.
    outside.sort(key=lambda query: query.batch_id)
    for batch, queries in groupby(outside, key=lambda query: query.batch_id):
        _settle_anew(work, batch, list(queries))
    return True


def _settle_anew(work: Work, batch: str, queries: Sequence[Query]) -> None:
    before = max(query.misplaced for query in queries)
    undone = queries[0].batch.status in ENDED  # after it was DONE: what it shows stays
    if before < TRIES_OF_LIES and not undone:
        sentence = f"The block at {queries[0].timestamp} is looked up anew: it was another one."
        why = Reason(WaitCode.TIME_LOOKED_UP_ANEW, sentence)
        pause = pause_after(before) if before else timedelta(0)
        transitions.misplace(batch, queries, pause, why)
        return
    sentence = (
        f"The nodes of chain {work.job.source} do not agree on which block was the last one at "
        f"{queries[0].timestamp}."
    )
    failure = Failure(NodesLie.code, sentence, StepName.INITIAL_STATE, retryable=True)
    transitions.reject([batch], failure, queries)
