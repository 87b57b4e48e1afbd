"""A batch that was received is settled: which blocks it names, and which jobs prove them.

Batches for which no node has to be asked are settled in groups, because alone each takes a prover
a dozen statements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from django.conf import settings
from django.db import transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from accounts.times import spoken
from queries import transitions
from queries.chain.ens import EnsFault
from queries.chain.errors import NodesLie, TimeTooEarly
from queries.chain.source import ChainHead, SourceChain
from queries.limits import Limits
from queries.models import Batch, BlockJob, Query
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.names import find_batchs_accounts
from queries.pipeline.queue import NOT_DUE, Lease, claim, free, look_in_turn
from queries.pipeline.work import Outcome, Snooze, pause_of
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode


@dataclass(frozen=True, slots=True)
class Named:
    """A block as queries of a batch name it: by its number or a time."""

    source: int
    block: int | None
    seconds: int | None
    by_name: bool  # has accounts that are named by ENS and not found yet

    @property
    def queries(self) -> Q:
        if self.seconds is None:
            return Q(source=self.source, block=self.block, timestamp=None)
        return Q(source=self.source, timestamp=self.seconds)

    def is_beyond(self, head: ChainHead, limits: Limits) -> bool:
        """Further ahead of the chain than a batch may wait for it."""
        if self.seconds is not None:
            return self.seconds > head.timestamp + limits.seconds_ahead
        return (self.block or 0) > head.number + limits.blocks_ahead


class Unprovable(Exception):  # noqa: N818
    """It is certain that these queries of a batch cannot be proven."""

    def __init__(self, failure: Failure, failing: Q) -> None:
        super().__init__(failure.sentence)
        self.failure, self.failing = failure, failing


def settle(lease: Lease[Batch], chains: Chains) -> Outcome:
    """Attach the batch to its jobs, and with it others that no node has to be asked for."""
    batch = lease.row
    queries = Query.objects.filter(batch=batch, ended=False)
    named = _named(queries)
    known = {each.source for each in named}.intersection(chains.routes.chains)
    chains.ask_first(batch.failures, *known)
    try:
        _refuse_removed_routes(batch, named, chains)
        _refuse_the_far_future(named, chains)
        reason = _find_blocks(lease, named, chains)
        if reason:
            return Snooze(reason, pause_of(batch.submitted, chains.routes.limits))
        if any(each.by_name for each in named) and (wait := find_batchs_accounts(chains, lease)):
            return wait
    except Unprovable as certain:
        transitions.reject([batch.pk], certain.failure, queries.filter(certain.failing))
        return None
    except EnsFault as fault:
        failure = Failure(fault.code, str(fault), StepName.INITIAL_STATE, retryable=fault.retryable)
        transitions.reject([batch.pk], failure, queries.filter(account="").exclude(name=""))
        return None
    attach([lease, *(_claim_plain(lease, named[0].source, chains) if named else ())])
    return None


def _named(queries: QuerySet[Query]) -> list[Named]:
    """The blocks of a batch, which may be asked for hundreds of accounts: read once."""
    by_name = Q(account="") & ~Q(name="")
    rows = queries.annotate(by_name=ExpressionWrapper(by_name, BooleanField()))
    found = rows.values_list("source", "block", "timestamp", "by_name").distinct()
    return [Named(*each) for each in found.order_by("source", "block", "timestamp", "by_name")]


def _refuse_removed_routes(batch: Batch, named: Sequence[Named], chains: Chains) -> None:
    """The routes file may have changed since the batch was taken."""
    for source in {each.source for each in named}:
        if chains.registry(source, batch.destination) is None:
            sentence = f"This server no longer proves chain {source} on {batch.destination}."
            raise Unprovable(
                Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False),
                Q(source=source),
            )


def _refuse_the_far_future(named: Sequence[Named], chains: Chains) -> None:
    """What was accepted unseen, because no head was known then, and lies far ahead: by quorum."""
    limits = chains.routes.limits
    for each in named:
        head = chains.head(each.source)
        if not each.is_beyond(head, limits):
            continue
        source = chains.source(each.source)
        if source.quorum(partial(_is_beyond, each, limits), ("beyond", each)):
            by_time = each.seconds is not None
            latest = f"of {spoken(head.timestamp)}" if by_time else f"block {head.number:,}"
            sentence = (
                f"Chain {each.source} has no such block yet: the last one seen there is {latest}."
            )
            raise Unprovable(
                Failure("block_beyond_head", sentence, StepName.INITIAL_STATE, retryable=True),
                each.queries,
            )


def _is_beyond(named: Named, limits: Limits, source: SourceChain) -> bool:
    return named.is_beyond(source.head(), limits)


def _find_blocks(lease: Lease[Batch], named: Sequence[Named], chains: Chains) -> Reason | None:
    """Find and store the blocks that are named by a time; or why one is not known yet."""
    blocks: dict[tuple[int, int], int] = {}
    for each in named:
        if each.block is not None or each.seconds is None:
            continue
        try:
            block, waits_for = block_at(chains, each.source, each.seconds)
        except TimeTooEarly as early:
            _refuse_by_quorum(chains, each, early)
        if block is None or waits_for:
            return waits_for
        blocks[each.source, each.seconds] = block
    lease.keep()
    for (source, seconds), block in blocks.items():
        of_time = Query.objects.filter(batch=lease.row, source=source, timestamp=seconds)
        of_time.filter(block=None, ended=False).update(block=block)
    return None


def _refuse_by_quorum(chains: Chains, named: Named, early: TimeTooEarly) -> NoReturn:
    """When the chain began is a node's word."""
    source, seconds = chains.source(named.source), named.seconds or 0

    def is_too_early(one: SourceChain) -> bool:
        try:
            one.last_block_at(seconds, one.head())
        except TimeTooEarly:
            return True
        return False

    if source.quorum(is_too_early, ("too early", named)):
        failure = Failure(early.code, early.sentence, StepName.INITIAL_STATE, retryable=False)
        raise Unprovable(failure, named.queries)
    raise NodesLie(early.sentence)


def block_at(chains: Chains, source: int, seconds: int) -> tuple[int | None, Reason | None]:
    """The last block at a time, where there is one after it; and why it is not settled yet."""
    head = chains.head(source)
    if head.timestamp <= seconds:
        sentence = f"Chain {source} has no block after {seconds} yet."
        return None, Reason(WaitCode.TIME_NOT_REACHED, sentence)
    block, after = chains.source(source).last_block_at(seconds, head)
    if not head.is_final(after.number):
        sentence = f"The block after {seconds} on chain {source} is not final yet."
        return block.number, Reason(WaitCode.BLOCK_NOT_FINAL, sentence)
    return block.number, None


def _claim_plain(first: Lease[Batch], source: int, chains: Chains) -> list[Lease[Batch]]:
    """Due batches of the same route whose blocks and accounts are known.

    With the first one they ask for no more than the largest batch may.
    """
    batch, now = first.row, shared_now()
    due = Batch.objects.filter(free(now), look_again__lte=now, destination=batch.destination)
    room = settings.BATCH_ACCOUNTS - batch.asked_queries
    keys: list[str] = []
    for key, asked in due.order_by(Batch.order).values_list("pk", "asked_queries")[: max(room, 0)]:
        room -= asked
        if room < 0:
            break
        keys.append(key)
    known = Q(Q(name="") | ~Q(account=""), source=source, timestamp=None)
    known &= Q(block__lte=chains.head(source).number)
    unknown = Query.objects.filter(~known | Q(block=None), batch=OuterRef("pk"), ended=False)
    plain = Batch.objects.filter(~Exists(unknown), pk__in=keys)
    return claim(plain, len(keys), token=first.token) if keys else []


def attach(leases: Sequence[Lease[Batch]]) -> None:
    """Attach batches to one destination to jobs for their blocks, accept them and close them.

    Jobs may serve others already. Rows are locked in one order, batches before jobs before queries.
    """
    destination, token = leases[0].row.destination, leases[0].token
    ours = Batch.objects.filter(pk__in=[lease.row.pk for lease in leases], lease_token=token)
    queries = Query.objects.filter(batch__in=[lease.row.pk for lease in leases], ended=False)
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
    with transaction.atomic():
        held = [each.pk for each in ours.order_by("pk").select_for_update()]
        list(jobs.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        list(queries.order_by("pk").select_for_update().values_list("pk", flat=True))
        transitions.attach(held, destination)
        # For all of their jobs: a worker that died here may have attached some already.
        look_in_turn(jobs.filter(Exists(queries.filter(job=OuterRef("pk")))))
        transitions.accept(ours)
        jobless = Query.objects.filter(batch=OuterRef("pk"), job=None, ended=False)
        # Another worker may just have found that a block is not the one of its time.
        ours.filter(Exists(jobless)).update(**{**NOT_DUE, "look_again": shared_now()})
        ours.update(**NOT_DUE)
