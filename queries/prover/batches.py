"""Resolve a received batch: find its blocks and accounts, and attach it to jobs for the blocks.

Batches that need no node are resolved in groups, because one alone takes a dozen SQL statements.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.wording import format_timestamp
from queries.chain import (
    ChainClient,
    ChainHead,
    EnsOffChainError,
    EnsUnresolvedError,
    InvalidAnswersError,
    TimeTooEarlyError,
)
from queries.config.limits import ROWS_PER_PASS, Limits
from queries.database import clock
from queries.database.handler import Handler, Outcome, Wait
from queries.database.leases import Lease, due_rows, recheck_pause
from queries.models import IS_UNRESOLVED, Batch, Query
from queries.planning.named_blocks import read_block_number
from queries.prover.outcomes import (
    Attach,
    DeliverOnly,
    Reject,
    reject_if_too_old,
    route_removed_failure,
)
from queries.statuses import StepName
from queries.transactions.context import ProverContext
from queries.transitions import Failure
from queries.wait_reasons import Reason

BLOCK_UNNAMED = "block_unnamed"


@dataclass(frozen=True, slots=True)
class RequestedBlock:
    """A block as a batch requests it: by its number or a time."""

    source: int
    block: int | None
    timestamp: int | None

    @property
    def is_unnamed(self) -> bool:
        """Whether a contract has yet to name it."""
        return self.block is None and self.timestamp is None

    @property
    def condition(self) -> Q:
        if self.timestamp is None:
            return Q(source=self.source, block=self.block, timestamp=None)
        return Q(source=self.source, timestamp=self.timestamp)

    def is_beyond(self, head: ChainHead, limits: Limits) -> bool:
        """Whether it exceeds the head by more than `max_blocks_ahead` or `max_seconds_ahead`."""
        if self.timestamp is not None:
            return self.timestamp > head.timestamp + limits.max_seconds_ahead
        return (self.block or 0) > head.number + limits.max_blocks_ahead


@dataclass(eq=False)
class RejectQueriesError(Exception):
    """These queries of a batch can certainly not be proven."""

    condition: Q
    failure: Failure


class BatchHandler(Handler[Batch, ProverContext]):
    """Resolves batches."""

    model = Batch

    def work(self, lease: Lease[Batch], context: ProverContext) -> Outcome | None:
        return resolve(lease, context)

    def outcome_if_too_old(
        self, lease: Lease[Batch], reason: Reason, limits: Limits
    ) -> Outcome | None:
        queries = Query.objects.filter(batch=lease.row, job=None)
        return reject_if_too_old(lease.row, queries, reason, limits)


def resolve(lease: Lease[Batch], context: ProverContext) -> Outcome:
    """Store the batch's blocks and accounts. Returns the wait, the rejection, or what to attach.

    Of a batch that proves nothing, the deliveries begin once its blocks are final.
    """
    batch = lease.row
    blocks = _requested_blocks(batch)
    sources = {block.source for block in blocks}.intersection(context.routes.chains)
    context.rotate(batch.failures, *sources)
    try:
        if batch.named_by and any(block.is_unnamed for block in blocks):
            _resolve_named_block(lease, context)
            blocks = _requested_blocks(batch)
        for block in blocks:
            _check_provable(block, batch, context)
        reason = (
            _resolve_times(lease, blocks, context)
            or _resolve_names(lease, context)
            or (None if batch.proves else _wait_for_finality(blocks, context))
        )
    except RejectQueriesError as error:
        failed_queries = Query.objects.filter(error.condition, batch=batch, has_ended=False)
        return Reject.create(list(failed_queries), error.failure)
    if reason:
        lease.owned_rows().filter(not_final_since=None).update(not_final_since=clock.shared_now())
        return Wait(reason, recheck_pause(batch.submitted_at, context.limits))
    if not batch.proves:
        return DeliverOnly()
    if not blocks:
        return Attach(Batch.objects.none())
    source = blocks[0].source
    return Attach(_resolved_batches(batch, source, context.head(source).number))


def _requested_blocks(batch: Batch) -> list[RequestedBlock]:
    """The distinct blocks of the batch, which may request hundreds of accounts of one block."""
    queries = Query.objects.filter(batch=batch, has_ended=False)
    columns = "source", "block", "timestamp"
    rows = queries.values_list(*columns).distinct().order_by(*columns)
    return [RequestedBlock(*row) for row in rows]


def _check_provable(block: RequestedBlock, batch: Batch, context: ProverContext) -> None:
    """Raises `RejectQueriesError` if the route was removed or a quorum finds the block too far
    ahead.
    """
    destination = batch.destination
    chains = context.routes.chains
    is_configured = block.source in chains and destination in chains
    has_registry = context.registry(block.source, destination) is not None
    if not (has_registry if batch.proves else is_configured):
        raise RejectQueriesError(
            Q(source=block.source), route_removed_failure(block.source, destination)
        )

    def is_beyond(node: ChainClient, block: RequestedBlock) -> bool:
        return block.is_beyond(node.head(), context.limits)

    head, source = context.head(block.source), context.client(block.source)
    if block.is_beyond(head, context.limits) and source.ask_quorum(is_beyond, block):
        is_time = block.timestamp is not None
        last = f"from {format_timestamp(head.timestamp)}" if is_time else f"block {head.number:,}"
        sentence = f"Chain {block.source} has no such block yet: the last one seen there is {last}."
        failure = Failure("block_beyond_head", sentence, StepName.INITIAL_STATE, retryable=True)
        raise RejectQueriesError(block.condition, failure)


def _resolve_named_block(lease: Lease[Batch], context: ProverContext) -> None:
    """Store the block that a contract on the destination names. By quorum: it is asked once."""
    batch = lease.row
    contract, function = batch.named_by or ("", "")
    destination = context.client(batch.destination)
    number = destination.ask_quorum(read_block_number, contract, function)
    unnamed = Q(block=None, timestamp=None)
    if number is None:
        sentence = f"The contract {contract} names no block: it does not answer {function}."
        failure = Failure(BLOCK_UNNAMED, sentence, StepName.INITIAL_STATE, retryable=True)
        raise RejectQueriesError(unnamed, failure)
    lease.extend()
    Query.objects.filter(unnamed, batch=batch, has_ended=False).update(block=number)


def _wait_for_finality(blocks: Sequence[RequestedBlock], context: ProverContext) -> Reason | None:
    """Why one of these blocks, which no job waits for, is not final yet."""
    for block in blocks:
        if block.block is not None:
            reason: Reason | None = context.head(block.source).wait_reason(block.block)
            if reason:
                return reason
    return None


def _resolve_times(
    lease: Lease[Batch], blocks: Sequence[RequestedBlock], context: ProverContext
) -> Reason | None:
    """Find and store the blocks that are requested by a time. Returns why one of them waits."""
    for block in blocks:
        if block.block is not None or block.timestamp is None:
            continue
        source = context.client(block.source)
        try:
            number, reason = context.block_at_time(block.source, block.timestamp)
        except TimeTooEarlyError as error:
            _check_time_by_quorum(source, -1, block.timestamp)
            raise RejectQueriesError(block.condition, Failure.from_error(error)) from None
        if number is None or reason:
            return reason
        _check_time_by_quorum(source, number, block.timestamp)
        lease.extend()
        rows = Query.objects.filter(block.condition, batch=lease.row, block=None, has_ended=False)
        rows.update(block=number)
    return None


def _check_time_by_quorum(source: ChainClient, block: int, timestamp: int) -> None:
    """Raises `InvalidAnswersError` unless a quorum agrees on the last block at the time.

    `block`: that block, or -1 if the chain began later.
    """
    if not source.ask_quorum(_is_last_block, block, timestamp):
        time = format_timestamp(timestamp)
        raise InvalidAnswersError(
            f"The nodes do not agree on which block was the last one at {time}."
        )


def _is_last_block(node: ChainClient, block: int, timestamp: int) -> bool:
    *headers, child = node.headers(max(block, 0), block + 1)
    return all(header.timestamp <= timestamp for header in headers) and timestamp < child.timestamp


def _resolve_names(lease: Lease[Batch], context: ProverContext) -> Reason | None:
    """Find and store the batch's accounts; its blocks are known. Returns why one of them waits."""
    unresolved_queries = Query.objects.filter(IS_UNRESOLVED, batch=lease.row, has_ended=False)
    while first := unresolved_queries.order_by("source", "block", "position").first():
        source, block = first.source, first.block or 0
        if reason := context.head(source).wait_reason(block):
            return reason
        lease.extend()
        rows = unresolved_queries.filter(source=source, block=block).order_by("position")
        queries = list(rows[:ROWS_PER_PASS])
        try:
            context.set_accounts(context.client(source).header(block), queries)
        except (EnsUnresolvedError, EnsOffChainError) as error:
            name = next(query.name for query in queries if not query.account)
            condition = Q(name=name, source=source, block=block)
            raise RejectQueriesError(condition, Failure.from_error(error)) from None
        Query.objects.bulk_update(queries, ["account"])
    return None


def _resolved_batches(batch: Batch, source: int, head_number: int) -> QuerySet[Batch]:
    """Due batches of the same route whose accounts are known and whose blocks exist.

    Together with the batch they have at most `BATCH_ACCOUNTS` queries.
    """
    limit = settings.BATCH_ACCOUNTS
    room, batch_ids = limit - batch.query_count, list[str]()
    due_batches = due_rows(Batch.objects.filter(destination=batch.destination), clock.shared_now())
    for batch_id, query_count in due_batches.values_list("pk", "query_count")[:limit]:
        room -= query_count
        if room < 0:
            break
        batch_ids.append(batch_id)
    resolved_condition = Q(~IS_UNRESOLVED, source=source, timestamp=None, block__lte=head_number)
    unresolved_queries = Query.objects.filter(
        ~resolved_condition | Q(block=None), batch=OuterRef("pk"), has_ended=False
    )
    return Batch.objects.filter(~Exists(unresolved_queries), pk__in=batch_ids, proves=True)
