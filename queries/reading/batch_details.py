"""A batch's request, progress by step and costs, for its page."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db.models import Case, Exists, JSONField, OuterRef, Q, When

from accounts.models import Account
from queries.contracts.create2 import courier_address
from queries.database import bulk_sql
from queries.models import Batch, Delivery, Query, Share
from queries.reading.batches import BatchView, QueryView, batch_view, query_page, query_view
from queries.reading.facts import RowKey, StoredWord, query_facts, read_words
from queries.selectors import NAMED_BLOCK
from queries.statuses import BatchStatus, GasSource, StepName

# Requests


@dataclass(frozen=True, slots=True)
class StoredRequest:
    content: dict[str, Any]  # the JSON of a request, with chains by their ids, without headers
    has_webhook_headers: bool


def stored_request(owner: Account, batch_id: str) -> StoredRequest | None:
    """The request of one of the account's own batches, to edit it and submit it again."""
    view = batch_view(batch_id)
    batch = Batch.objects.filter(owner=owner, pk=batch_id).first() if view else None
    if view is None or batch is None:
        return None
    queries = query_page(view, first=0, limit=batch.query_count).queries
    data = requested_data(replace(query, chain_key=str(query.source)) for query in queries)
    content = {
        "destinationChainId": str(view.destination),
        "fee": str(view.fee),
        "data": _without_empty_members(data),
    }
    if not batch.proves:
        content["prove"] = False
    if any(query.selector == NAMED_BLOCK for query in queries):
        contract, function = batch.named_by or ("", "")
        content["block"] = {"from": contract, "function": function}
    if batch.webhook_url:
        content["webhook"] = {"url": batch.webhook_url}
    if batch.delivery_count:
        rows = batch.deliveries.order_by("position")
        content["deliver"] = [requested_delivery(row) for row in rows]
    return StoredRequest(content, bool(batch.webhook_headers))


def requested_delivery(row: Delivery) -> dict[str, Any]:
    """The delivery as a request has it."""
    call = {"to": row.to, "function": row.function, "args": row.arguments}
    if row.gas_source == GasSource.REQUEST:
        call["gas"] = str(row.gas)
    if row.unless:
        function, arguments = row.unless
        call["unless"] = {"function": function, "args": arguments}
    if row.errors:
        call["errors"] = row.errors
    return call


def _without_empty_members(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    members = ((name, _without_empty_members(member)) for name, member in content.items())
    return {name: member for name, member in members if member}


def requested_data(queries: Iterable[QueryView]) -> dict[str, Any]:
    """The `data` of a request for these queries."""
    data: dict[str, Any] = {}
    for query in queries:
        block = data.setdefault(query.chain_key, {}).setdefault(query.selector, {"accounts": {}})
        if query.header:
            block["header"] = list(query.header)
        block |= query.event_request
        props = [prop.name for prop in query.props]
        for key, slots in query.account_keys.items():
            block["accounts"][key] = {"props": props, "slots": list(slots)}
    return data


# Progress


@dataclass(frozen=True, slots=True)
class StepProgressView:
    """The number of queries that have completed a step, and the times."""

    name: StepName
    completed_count: int
    total: int  # queries that have the step
    began_at: datetime | None
    last_completed_at: datetime | None  # of the last query that has completed it

    @property
    def completed_at(self) -> datetime | None:
        """None before all queries have completed it."""
        return self.last_completed_at if self.completed_count == self.total else None


@dataclass(frozen=True, slots=True)
class Progress:
    steps: tuple[StepProgressView, ...]  # that the batch's queries have
    ended_queries: int  # that are proven, while the batch is open
    lost_queries: int  # whose facts a reorg removed
    failed_queries: int  # for which the batch was rejected
    first_failed: int | None  # the position of the first of them

    def completed_at(self, name: StepName) -> datetime | None:
        return next((step.completed_at for step in self.steps if step.name is name), None)


_LAST_STEP = (
    f"CASE WHEN account <> '' THEN {StepName.ACCOUNT_ACCUMULATED.completed_column} "
    f"ELSE {StepName.HEADER_ACCUMULATED.completed_column} END"
)
_PROGRESS_COLUMNS = {
    "batch_id": "batch_id",
    "queries": "COUNT(*)",
    "account_queries": "COUNT(*) FILTER (WHERE account <> '' OR name <> '')",
    "ended": "COUNT(*) FILTER (WHERE has_ended)",
    "lost": f"COUNT(*) FILTER (WHERE NOT has_ended AND {_LAST_STEP} IS NOT NULL)",
    "failed_count": "COUNT(*) FILTER (WHERE failed)",
    "first_failed": "MIN(position) FILTER (WHERE failed)",
    **{
        key.format(step): expression.format(step.began_column, step.completed_column)
        for step in StepName
        for key, expression in (
            ("{}_completed", "COUNT({1})"),
            ("{}_began_at", "MIN({0})"),
            ("{}_completed_at", "MAX({1})"),
        )
    },
}
_PROGRESS_TIMES = [key for key in _PROGRESS_COLUMNS if key.endswith("_at")]
_SELECT_PROGRESS = (
    f"SELECT {', '.join(_PROGRESS_COLUMNS.values())} "  # noqa: S608  (constants)
    "FROM queries_query WHERE batch_id IN ({}) GROUP BY batch_id"
)


def batch_progress(batch: BatchView) -> Progress:
    return read_progress([batch.id])[batch.id]


def read_progress(batch_ids: Sequence[str]) -> Mapping[str, Progress]:
    return parse_progress(progress_rows(batch_ids))


def progress_rows(batch_ids: Sequence[str]) -> Sequence[tuple[Any, ...]]:
    """The progress of these batches, for `parse_progress`, read in one statement."""
    if not batch_ids:
        return []
    statement = _SELECT_PROGRESS.format(", ".join(["%s"] * len(batch_ids)))
    return bulk_sql.fetch_values(statement, batch_ids)


def parse_progress(rows: Sequence[tuple[Any, ...]]) -> Mapping[str, Progress]:
    """The progress by batch."""
    named_rows = bulk_sql.name_columns(rows, list(_PROGRESS_COLUMNS), _PROGRESS_TIMES)
    return {row.batch_id: _progress(row) for row in named_rows}


def _progress(row: Any) -> Progress:
    steps = (_step_progress(vars(row), step) for step in StepName)
    return Progress(
        steps=tuple(step for step in steps if step.total),
        ended_queries=row.ended,
        lost_queries=row.lost,
        failed_queries=row.failed_count,
        first_failed=row.first_failed,
    )


def _step_progress(row: Mapping[str, Any], step: StepName) -> StepProgressView:
    total = row["account_queries" if step is StepName.ACCOUNT_ACCUMULATED else "queries"]
    completed_count = row[f"{step}_completed"]
    times = row[f"{step}_began_at"], row[f"{step}_completed_at"]
    return StepProgressView(step, completed_count, total, *times)


# Costs


@dataclass(frozen=True, slots=True)
class TransactionShare:
    """A batch's share of a transaction, in proportion to what it reserved for it."""

    hash: str  # the mined one, or else the newest that was sent
    signed_at: datetime
    is_preparation: bool  # it proves no requested fact
    is_delivery: bool
    hops: int
    other_batches: int  # that share it
    percent: float
    gas: int | None  # None before it is mined
    reserved_fee: int  # wei
    paid_fee: int | None  # wei; None before it is confirmed

    @property
    def amount(self) -> int:
        return self.reserved_fee if self.paid_fee is None else self.paid_fee


def transaction_shares(batch_ids: Collection[str]) -> Mapping[str, Sequence[TransactionShare]]:
    """The shares of these batches, oldest first, read in two statements."""
    deliveries = Delivery.objects.filter(transaction=OuterRef("transaction"))
    shares = list(
        Share.objects.filter(batch__in=batch_ids)
        .annotate(is_delivery=Exists(deliveries))
        .select_related("transaction")
        .defer("transaction__raw")
        .order_by("transaction")
    )
    reserved_fees = defaultdict[int, list[int]](list)
    sharing = Share.objects.filter(transaction__in=[share.transaction_id for share in shares])
    for transaction, amount in sharing.values_list("transaction", "max_cost"):
        reserved_fees[transaction].append(int(amount, 16))
    batch_shares: dict[str, list[TransactionShare]] = {batch_id: [] for batch_id in batch_ids}
    for share in shares:
        view = _transaction_share(share, reserved_fees[share.transaction_id])
        batch_shares[share.batch_id].append(view)
    return batch_shares


def _transaction_share(share: Share, all_reserved_fees: Sequence[int]) -> TransactionShare:
    row, reserved_fee, total = share.transaction, int(share.max_cost, 16), sum(all_reserved_fees)
    # A cancelled one has another receiver; one that failed is not the delivery's last one.
    is_delivery = vars(share)["is_delivery"] or row.to == courier_address()
    return TransactionShare(
        hash=row.mined_hash or row.hashes[-1],
        signed_at=row.signed_at,
        is_preparation=row.is_preparation,
        is_delivery=is_delivery,
        hops=row.hops,
        other_batches=len(all_reserved_fees) - 1,
        percent=100 * reserved_fee / total if total else 100.0,
        gas=None if row.gas_used is None else row.gas_used * reserved_fee // (total or 1),
        reserved_fee=reserved_fee,
        paid_fee=int(share.paid, 16) if share.paid else None,
    )


# Summaries

MAX_NAMED_FACTS = 3  # a sentence counts more

_UNUSED_COLUMNS = (
    "slots", "spelling", "event_names",
    "batch__warnings", "batch__webhook_url", "batch__webhook_headers",
)  # fmt: skip
# Columns that are read if the query has one entry in them.
_SINGLE_COLUMNS = {"slots": "slot_count", "event_names": "event_count"}


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """The request of a batch, in counts, and its first queries."""

    query_count: int
    block_count: int
    source_count: int
    account_count: int
    fact_count: int
    header_field_count: int
    is_uniform: bool  # all its queries ask for the same fields and slots
    event_count: int
    # All of a batch with up to `MAX_NAMED_FACTS`; of others the first one. Without their slots and
    # events, unless they ask for a single one.
    queries: tuple[QueryView, ...]

    @property
    def first(self) -> QueryView:
        return self.queries[0]


def batch_summaries(batch_ids: Collection[str]) -> Mapping[str, BatchSummary]:
    """The summaries of these batches, read in two statements."""
    single = {
        f"single_{column}": Case(When(**{count: 1}, then=column), output_field=JSONField())
        for column, count in _SINGLE_COLUMNS.items()
    }
    is_named = Q(batch__fact_count__lte=MAX_NAMED_FACTS, position__lt=MAX_NAMED_FACTS)
    rows = list(
        Query.objects.filter(Q(position=0) | is_named, batch__in=batch_ids)
        .order_by("batch", "position")
        .select_related("batch")
        .defer(*_UNUSED_COLUMNS)
        .annotate(**single)
    )
    for row in rows:
        row.spelling = None
        row.slots, row.event_names = (
            vars(row)[f"single_{column}"] or [] for column in _SINGLE_COLUMNS
        )
    words = read_words(row for row in rows if row.batch.fact_count == 1)
    groups = groupby(rows, attrgetter("batch"))
    return {batch.pk: batch_summary(batch, group, words) for batch, group in groups}


def batch_summary(
    batch: Batch, rows: Iterable[Query], words: Mapping[RowKey, StoredWord]
) -> BatchSummary:
    """The summary of a batch, whose rows need not be stored."""
    names = {field.name for field in fields(BatchSummary)} - {"queries"}
    counts = {name: getattr(batch, name) for name in names}
    is_done = batch.status == BatchStatus.DONE
    queries = (
        query_view(
            row,
            query_facts(row, batch.destination, words, is_proven=is_done and not row.failed),
            {},
        )
        for row in rows
    )
    return BatchSummary(**counts, queries=tuple(queries))
