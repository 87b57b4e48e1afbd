"""Settle a received batch: find the blocks and accounts it names, and attach it to their jobs.

Batches for which no node has to be asked are settled in groups, because alone each takes a prover
a dozen statements.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q

from accounts.shared.wording import spoken
from queries import transitions
from queries.chain.errors import ChainError, EnsOffChain, EnsUnresolved, NodesLie, TimeTooEarly
from queries.chain.reader import ChainHead, SourceChain
from queries.config.limits import Limits
from queries.database import bulk_sql, clock
from queries.database.leases import (
    NOT_DUE,
    Lease,
    LeaseLost,
    Snooze,
    claim,
    due,
    look_in_turn,
    pause_of,
)
from queries.models import Batch, BlockJob, Query
from queries.planning.lookups import block_at, find_accounts
from queries.prover.context import Chains, route_removed
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason

NAMELESS = Q(account="") & ~Q(name="")  # has an ENS name whose address is not known yet


@dataclass(frozen=True, slots=True)
class Named:
    """A block as queries of a batch name it: by its number or a time."""

    source: int
    block: int | None
    seconds: int | None
    nameless: bool  # whether queries for it have accounts to be found

    @property
    def queries(self) -> Q:
        if self.seconds is None:
            return Q(source=self.source, block=self.block, timestamp=None)
        return Q(source=self.source, timestamp=self.seconds)

    def is_beyond(self, head: ChainHead, limits: Limits) -> bool:
        """Further above the head than `blocks_ahead` or `seconds_ahead` allow."""
        if self.seconds is not None:
            return self.seconds > head.timestamp + limits.seconds_ahead
        return (self.block or 0) > head.number + limits.blocks_ahead


@dataclass(eq=False)
class Unprovable(Exception):  # noqa: N818
    """It is certain that these queries of a batch cannot be proven."""

    failing: Q
    failure: Failure


def settle(lease: Lease[Batch], chains: Chains) -> Snooze | None:
    """Attach the batch to its jobs, together with others for which no node has to be asked."""
    batch = lease.row
    named = _named(batch)
    known = {each.source for each in named}.intersection(chains.routes.chains)
    chains.ask_first(batch.failures, *known)
    try:
        for each in named:
            _refuse_what_is_not_there(each, batch.destination, chains)
        reason = _find_blocks(lease, named, chains)
        if not reason and any(each.nameless for each in named):
            reason = _find_batchs_accounts(lease, chains)
    except Unprovable as certain:
        failing = Query.objects.filter(certain.failing, batch=batch, ended=False)
        transitions.reject([batch.pk], certain.failure, failing)
        return None
    if reason:
        return Snooze(reason, pause_of(batch.submitted, chains.limits))
    newest = chains.head(named[0].source).number if named else 0
    with transaction.atomic():  # if they cannot be attached, the others are not claimed either
        beside = _claim_plain(lease, named[0].source, newest) if named else []
        attach([lease, *beside])
    return None


def _named(batch: Batch) -> list[Named]:
    """The batch's blocks, each once, although it may ask for hundreds of accounts of one."""
    queries = Query.objects.filter(batch=batch, ended=False)
    rows = queries.annotate(nameless=ExpressionWrapper(NAMELESS, BooleanField()))
    found = rows.values_list("source", "block", "timestamp", "nameless").distinct()
    return [Named(*each) for each in found.order_by("source", "block", "timestamp", "nameless")]


def _refuse_what_is_not_there(named: Named, destination: int, chains: Chains) -> None:
    """`Unprovable` if the route was removed or, by quorum, the block is far above the head."""
    if chains.registry(named.source, destination) is None:
        raise Unprovable(Q(source=named.source), route_removed(named.source, destination))
    head, limits = chains.head(named.source), chains.limits
    if named.is_beyond(head, limits) and chains.source(named.source).quorum(
        lambda one: named.is_beyond(one.head(), limits), ("beyond", named)
    ):
        by_time = named.seconds is not None
        latest = f"of {spoken(head.timestamp)}" if by_time else f"block {head.number:,}"
        said = f"Chain {named.source} has no such block yet: the last one seen there is {latest}."
        failure = Failure("block_beyond_head", said, StepName.INITIAL_STATE, retryable=True)
        raise Unprovable(named.queries, failure)


def _failure(fault: ChainError) -> Failure:
    return Failure(fault.code, fault.sentence, StepName.INITIAL_STATE, fault.retryable)


def _find_blocks(lease: Lease[Batch], named: Sequence[Named], chains: Chains) -> Reason | None:
    """Find and store the blocks that are named by a time; or why one is not known yet."""
    blocks: dict[tuple[int, int], int] = {}
    for each in named:
        if each.block is not None or each.seconds is None:
            continue
        nodes = chains.source(each.source)
        try:
            block, waits_for = block_at(chains, each.source, each.seconds)
        except TimeTooEarly as early:
            _confirm_time(nodes, -1, each.seconds)
            raise Unprovable(each.queries, _failure(early)) from None
        if block is None or waits_for:
            return waits_for
        _confirm_time(nodes, block, each.seconds)
        blocks[each.source, each.seconds] = block
    lease.keep()
    for (source, seconds), block in blocks.items():
        of_time = Query.objects.filter(batch=lease.row, source=source, timestamp=seconds)
        of_time.filter(block=None, ended=False).update(block=block)
    return None


def _confirm_time(source: SourceChain, block: int, seconds: int) -> None:
    """By quorum: one node alone may be wrong about when its blocks were made.

    `block`: the last one at the time, or -1 if the chain began later.
    """

    def is_last(one: SourceChain) -> bool:
        *at, after = one.headers(max(block, 0), block + 1)
        return all(each.timestamp <= seconds for each in at) and seconds < after.timestamp

    if not source.quorum(is_last, ("last block", block, seconds)):
        raise NodesLie(
            f"The nodes do not agree on which block was the last one at {spoken(seconds)}."
        )


def _find_batchs_accounts(lease: Lease[Batch], chains: Chains) -> Reason | None:
    """Find and store the batch's accounts; its blocks are known. Returns what it waits for."""
    nameless = Query.objects.filter(NAMELESS, batch=lease.row)
    while first := nameless.order_by("source", "block", "place").first():
        source, block = first.source, first.block or 0
        if wait := chains.head(source).waits_for(block):
            return wait
        lease.keep()
        of_block = nameless.filter(source=source, block=block).order_by("place")
        some = list(of_block[: chains.limits.batch_questions])
        try:
            find_accounts(chains, chains.source(source).header(block), some)
        except (EnsUnresolved, EnsOffChain) as fault:
            name = next(query.name for query in some if not query.account)
            failing = Q(name=name, source=source, block=block)
            raise Unprovable(failing, _failure(fault)) from None
        bulk_sql.update(some, ["account"])
    return None


def _claim_plain(first: Lease[Batch], source: int, newest: int) -> list[Lease[Batch]]:
    """Claim due batches of the same route whose accounts are known and whose blocks exist.

    Together with the first batch they have at most `BATCH_ACCOUNTS` queries.
    """
    most = settings.BATCH_ACCOUNTS
    room, keys = most - first.row.asked_queries, list[str]()
    others = due(Batch.objects.filter(destination=first.row.destination), clock.shared_now())
    for key, asked in others.values_list("pk", "asked_queries")[:most]:
        room -= asked
        if room < 0:
            break
        keys.append(key)
    known = Q(~NAMELESS, source=source, timestamp=None, block__lte=newest)
    unknown = Query.objects.filter(~known | Q(block=None), batch=OuterRef("pk"), ended=False)
    return claim(Batch.objects.filter(~Exists(unknown), pk__in=keys), most)


def attach(leases: Sequence[Lease[Batch]]) -> None:
    """Attach batches to one destination to jobs for their blocks, accept them and close them.

    Jobs may serve others already. Rows are locked in one order, batches before jobs before queries.
    """
    destination, keys = leases[0].row.destination, [each.row.pk for each in leases]
    ours = Batch.objects.filter(pk__in=keys, lease_token__in={each.token for each in leases})
    with transaction.atomic():
        held = [each.pk for each in ours.order_by("pk").select_for_update()]
        queries = Query.objects.filter(batch__in=held, ended=False)
        named = queries.values_list("source", "block").order_by("source", "block").distinct()
        blocks = [(source, block) for source, block in named if block is not None]
        BlockJob.objects.bulk_create(
            [BlockJob(source=each, destination=destination, block=block) for each, block in blocks],
            ignore_conflicts=True,
        )
        jobs = BlockJob.objects.filter(
            destination=destination,
            source__in={source for source, _ in blocks},
            block__in={block for _, block in blocks},
        )
        rows = jobs.order_by("pk").select_for_update(no_key=True)
        if not set(blocks) <= set(rows.values_list("source", "block")):
            raise LeaseLost  # `pruning` has just deleted one: the next pass makes it again
        list(queries.order_by("pk").select_for_update().values_list("pk", flat=True))
        transitions.attach(held, destination)
        # For all of their jobs: a worker that died here may have attached some already.
        look_in_turn(jobs.filter(Exists(queries.filter(job=OuterRef("pk")))))
        transitions.accept(ours)
        ours.update(**NOT_DUE)
