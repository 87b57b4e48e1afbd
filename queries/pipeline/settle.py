"""A batch that was received is settled: which blocks it means, and which jobs serve it."""

from dataclasses import dataclass

from django.db.models import QuerySet

from queries import transitions
from queries.chain.ens import EnsFault
from queries.models import Batch, BlockJob, Query
from queries.pipeline.chains import Chains
from queries.pipeline.leases import Lease, look_now
from queries.pipeline.names import failure_of, find_batchs_accounts
from queries.pipeline.work import SOON, Wait
from queries.statuses import BatchStatus, StepName
from queries.transitions import Failure

# How far ahead of the chain a batch may wait for it.
BLOCKS_AHEAD, SECONDS_AHEAD = 300, 3_600


@dataclass(frozen=True, slots=True)
class Times:
    """Blocks that a batch names by their time: those found, and why others are not yet."""

    blocks: dict[tuple[int, int], int]
    waits_for: str


def settle(lease: Lease[Batch], chains: Chains) -> Wait | None:
    batch = lease.row
    if batch.status != BatchStatus.RECEIVED:
        return None
    impossible = _no_route(batch, chains) or _of_the_future(batch, chains)
    if impossible:
        transitions.reject([batch.pk], *impossible)
        return None
    try:
        waits_for = _find_blocks(lease, chains) or find_batchs_accounts(chains, batch.pk)
    except EnsFault as fault:
        named = Query.objects.filter(batch=batch, account="").exclude(name="")
        transitions.reject([batch.pk], failure_of(fault), named)
        return None
    if waits_for:
        return Wait(SOON * 4, waits_for)
    lease.keep()
    _attach(batch)
    transitions.accept(batch)
    return None


Impossible = tuple[Failure, QuerySet[Query]]  # why, and for which queries


def _no_route(batch: Batch, chains: Chains) -> Impossible | None:
    """The routes file may have changed since the batch was taken."""
    for source in set(Query.objects.filter(batch=batch).values_list("source", flat=True)):
        if chains.registry(source, batch.destination) is None:
            sentence = f"This server no longer proves chain {source} on {batch.destination}."
            failure = Failure(
                "route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False
            )
            return failure, Query.objects.filter(batch=batch, source=source)
    return None


def _of_the_future(batch: Batch, chains: Chains) -> Impossible | None:
    """What was accepted unseen, because no head was known then, and lies far ahead."""
    named = Query.objects.filter(batch=batch).values_list("source", "block", "timestamp")
    for source, block, seconds in named.distinct():
        head = chains.head(source)
        if seconds is not None:
            beyond, latest = seconds > head.timestamp + SECONDS_AHEAD, f"timestamp:{head.timestamp}"
        else:
            beyond, latest = (block or 0) > head.number + BLOCKS_AHEAD, f"block:{head.number}"
        if beyond:
            sentence = f"Chain {source} has no such block yet: the last one seen there is {latest}."
            failure = Failure("block_beyond_head", sentence, StepName.INITIAL_STATE, retryable=True)
            of_source = Query.objects.filter(batch=batch, source=source)
            if seconds is not None:
                return failure, of_source.filter(timestamp=seconds)
            return failure, of_source.filter(block=block)
    return None


def _find_blocks(lease: Lease[Batch], chains: Chains) -> str:
    """Those that are named by their time; or why they are not known yet."""
    batch = lease.row
    times = _blocks_at_times(batch, chains)
    lease.keep()
    for (source, seconds), block in times.blocks.items():
        Query.objects.filter(batch=batch, source=source, timestamp=seconds).update(block=block)
    return times.waits_for


def _blocks_at_times(batch: Batch, chains: Chains) -> Times:
    named = (
        Query.objects.filter(batch=batch, block=None).values_list("source", "timestamp").distinct()
    )
    blocks: dict[tuple[int, int], int] = {}
    for source, seconds in named:
        if seconds is None:
            continue
        block, waits_for = block_at(chains, source, seconds)
        if block is None or waits_for:
            return Times({}, waits_for)
        blocks[source, seconds] = block
    return Times(blocks, "")


def block_at(chains: Chains, source: int, seconds: int) -> tuple[int | None, str]:
    """The last block at a time, where there is one after it; and why it is not settled yet."""
    head = chains.head(source)
    if head.timestamp <= seconds:
        return None, f"Chain {source} has no block after {seconds} yet."
    block, after = chains.source(source).last_block_at(seconds, head)
    if not head.is_final(after.number):
        return block.number, f"The block after {seconds} on chain {source} is not final yet."
    return block.number, ""


def _attach(batch: Batch) -> None:
    """Jobs for the batch's blocks, which may serve others already, and someone to look at them."""
    queries = Query.objects.filter(batch=batch, job=None)
    named = set(queries.values_list("source", "block"))
    # In one order for all: of two who add the same jobs the other way round, each would wait for
    # the other.
    blocks = sorted((source, block) for source, block in named if block is not None)
    BlockJob.objects.bulk_create(
        [
            BlockJob(source=source, destination=batch.destination, block=block)
            for source, block in blocks
        ],
        ignore_conflicts=True,
    )
    for source, block in blocks:
        job = BlockJob.objects.get(source=source, destination=batch.destination, block=block)
        transitions.attach(job, queries.filter(source=source, block=block))
    # After the queries are there: a worker that closes a job now finds them, or this. For all of
    # the batch, because whoever died here may have attached some already.
    look_now(BlockJob.objects.filter(pk__in=Query.objects.filter(batch=batch).values("job")))
