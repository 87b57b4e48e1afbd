"""A batch that was received is settled: which blocks it means, and which jobs serve it.

So is one again of which a time's block turned out to be another one (`times.py`): for what is open
of it, which keeps its jobs where it has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Max, Q, QuerySet

from accounts.times import spoken
from queries import transitions
from queries.chain.ens import EnsFault
from queries.chain.heads import ChainHead
from queries.models import Batch, BlockJob, Query
from queries.pipeline.chains import NEVER_FINAL_AFTER, Chains
from queries.pipeline.leases import Lease, look_in_turn
from queries.pipeline.names import failure_of, find_batchs_accounts
from queries.pipeline.verdicts import LOOKS_WITH_ONE
from queries.pipeline.work import LATER, SOON, Wait, pause_after
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

# How far ahead of the chain a batch may wait for it.
BLOCKS_AHEAD, SECONDS_AHEAD = 300, 3_600
# Before a batch is rejected for that: a node may be far behind, or its address have led elsewhere.
# Where it is one alone that tells of a head, it takes `LOOKS_WITH_ONE`.
LOOKS_AT_THE_FUTURE = 4


@dataclass(frozen=True, slots=True)
class Named:
    """A block as queries of a batch name it: by its number or a time."""

    source: int
    block: int | None
    seconds: int | None
    by_name: bool  # has accounts that are named by ENS and not found yet
    misplaced: int  # how often it was another block than that of the time

    @property
    def queries(self) -> Q:
        if self.seconds is None:
            return Q(source=self.source, block=self.block, timestamp=None)
        return Q(source=self.source, timestamp=self.seconds)


@dataclass(frozen=True, slots=True)
class Times:
    """Blocks that a batch names by their time: those found, and why others are not yet."""

    blocks: dict[tuple[int, int], int]
    waits_for: Reason | None

    def block_of(self, named: Named) -> int:
        if named.block is not None or named.seconds is None:
            return named.block or 0
        return self.blocks[named.source, named.seconds]


def settle(lease: Lease[Batch], chains: Chains) -> Wait | None:
    batch = lease.row
    queries = Query.objects.filter(batch=batch, ended=False)
    named = _named(queries)
    misplaced = batch.wait_code == WaitCode.TIME_LOOKED_UP_ANEW
    lease.asked.update({each.source for each in named} & chains.routes.chains.keys())
    if misplaced or batch.failed_lately:
        # Known by their number alone, which may be made up: another one is asked first each time.
        again = max(each.misplaced for each in named) if misplaced else 0
        chains.ask_first(batch.looks + again, *lease.asked)
    future = None
    impossible = _no_route(batch, named, chains) or (future := _of_the_future(named, chains))
    if impossible:
        failure, failing = impossible
        # What else failed before was no such look.
        looks = 1 + (batch.failures if batch.wait_code == WaitCode.BLOCK_NOT_FINAL else 0)
        if future and not _are_enough(looks, failing, named, chains):
            pause = LATER if looks < LOOKS_AT_THE_FUTURE else pause_after(looks)
            return Wait(pause, Reason(WaitCode.BLOCK_NOT_FINAL, failure.sentence), looks)
        transitions.reject([batch.pk], failure, queries.filter(failing))
        return None
    try:
        times = _find_blocks(lease, named, chains)
        wait = None
        if times.waits_for:
            wait = Wait(SOON * 4, times.waits_for)
            for source in {each.source for each in named if each.seconds is not None}:
                chains.doubt(chains.source(source), batch, NEVER_FINAL_AFTER)
        if not wait and any(each.by_name for each in named):
            wait = find_batchs_accounts(chains, lease)
    except EnsFault as fault:
        nameless = queries.filter(account="").exclude(name="")
        transitions.reject([batch.pk], failure_of(fault), nameless)
        return None
    if wait:
        return wait
    lease.keep()
    attach([batch], {(each.source, times.block_of(each)): batch.turn for each in named})
    transitions.accept(Batch.objects.filter(pk=batch.pk))
    return None


def _named(queries: QuerySet[Query]) -> list[Named]:
    """The blocks of a batch, which may be asked for hundreds of accounts: read once."""
    by_name = Q(account="") & ~Q(name="")
    rows = queries.annotate(by_name=ExpressionWrapper(by_name, BooleanField()))
    found = rows.values("source", "block", "timestamp", "by_name")
    found = found.annotate(times=Max("misplaced"))
    return [
        Named(each["source"], each["block"], each["timestamp"], each["by_name"], each["times"])
        for each in found.order_by("source", "block", "timestamp", "by_name")
    ]


Impossible = tuple[Failure, Q]  # why, and for which queries


def _no_route(batch: Batch, named: Sequence[Named], chains: Chains) -> Impossible | None:
    """The routes file may have changed since the batch was taken."""
    for source in {each.source for each in named}:
        if chains.registry(source, batch.destination) is None:
            sentence = f"This server no longer proves chain {source} on {batch.destination}."
            failure = Failure(
                "route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False
            )
            return failure, Q(source=source)
    return None


def _of_the_future(named: Sequence[Named], chains: Chains) -> Impossible | None:
    """What was accepted unseen, because no head was known then, and lies far ahead."""
    furthest: dict[int, ChainHead] = {}  # asked of all nodes, so not for each of a hundred blocks
    for each in named:
        head = furthest.get(each.source) or chains.head(each.source)
        if each.source not in furthest and _is_beyond(head, each.block, each.seconds):
            furthest[each.source] = head = chains.furthest_head(each.source)
            chains.source(each.source).confirm_chain()
        if _is_beyond(head, each.block, each.seconds):
            by_time = each.seconds is not None
            latest = f"of {spoken(head.timestamp)}" if by_time else f"block {head.number:,}"
            sentence = (
                f"Chain {each.source} has no such block yet: the last one seen there is {latest}."
            )
            failure = Failure("block_beyond_head", sentence, StepName.INITIAL_STATE, retryable=True)
            return failure, each.queries
    return None


def _are_enough(looks: int, beyond: Q, named: Sequence[Named], chains: Chains) -> bool:
    """To reject a batch for a block that lies beyond all heads that are told of."""
    if looks < LOOKS_AT_THE_FUTURE or looks >= LOOKS_WITH_ONE:
        return looks >= LOOKS_WITH_ONE
    return all(
        map(chains.two_tell_heads, {each.source for each in named if each.queries == beyond})
    )


def _is_beyond(head: ChainHead, block: int | None, seconds: int | None) -> bool:
    if seconds is not None:
        return seconds > head.timestamp + SECONDS_AHEAD
    return (block or 0) > head.number + BLOCKS_AHEAD


def _find_blocks(lease: Lease[Batch], named: Sequence[Named], chains: Chains) -> Times:
    """Those that are named by their time; or why they are not known yet."""
    times = _blocks_at_times(named, chains)
    lease.keep()
    for (source, seconds), block in times.blocks.items():
        of_time = Query.objects.filter(batch=lease.row, source=source, timestamp=seconds)
        of_time.filter(block=None, ended=False).update(block=block)
    return times


def _blocks_at_times(named: Sequence[Named], chains: Chains) -> Times:
    blocks: dict[tuple[int, int], int] = {}
    for each in named:
        if each.block is not None or each.seconds is None:
            continue
        block, waits_for = block_at(chains, each.source, each.seconds)
        if block is None or waits_for:
            return Times({}, waits_for)
        blocks[each.source, each.seconds] = block
    return Times(blocks, None)


def block_at(chains: Chains, source: int, seconds: int) -> tuple[int | None, Reason | None]:
    """The last block at a time, where there is one after it; and why it is not settled yet."""
    head = chains.head(source)
    if head.timestamp <= seconds:
        chains.doubt(chains.source(source))
        sentence = f"Chain {source} has no block after {seconds} yet."
        return None, Reason(WaitCode.TIME_NOT_REACHED, sentence)
    block, after = chains.source(source).last_block_at(seconds, head)
    if not head.is_final(after.number):
        chains.doubt(chains.source(source))
        sentence = f"The block after {seconds} on chain {source} is not final yet."
        return block.number, Reason(WaitCode.BLOCK_NOT_FINAL, sentence)
    return block.number, None


def attach(batches: Sequence[Batch], turns: Mapping[tuple[int, int], datetime]) -> None:
    """Batches to one destination to jobs for these blocks, which may serve others already.

    Each has its turn by then, as the first of those has that name it.
    """
    # In one order for all: of two who add the same jobs the other way round, each would wait for
    # the other.
    blocks = sorted(turns)
    destination = batches[0].destination
    BlockJob.objects.bulk_create(
        [
            BlockJob(source=source, destination=destination, block=block, turn=turns[source, block])
            for source, block in blocks
        ],
        ignore_conflicts=True,
    )
    jobs = BlockJob.objects.filter(
        destination=destination,
        source__in={source for source, _ in blocks},
        block__in=[block for _, block in blocks],
    )
    found = {(job.source, job.block): job for job in jobs}
    unattached = Query.objects.filter(batch__in=batches, job=None)
    with transaction.atomic():
        if len(batches) > 1:
            # In their order, as all who lock those of several batches do.
            list(unattached.order_by("pk").select_for_update().values_list("pk", flat=True))
        for source, block in blocks:
            transitions.attach(found[source, block], unattached.filter(source=source, block=block))
    # After the queries are there: a worker that closes a job now finds them, or this. For all of
    # the batches, because whoever died here may have attached some already.
    look_in_turn({found[each].pk: turns[each] for each in blocks})
