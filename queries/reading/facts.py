"""Proven facts: those of a query, and for files those of an account, a block or a registry.

A file lists the newest block first. Its queries are chosen before the first fact is read, so that
its head can name where the next file begins. The rows read are bounded, not only the rows found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet, Subquery

from queries.models import Batch, BlockJob, Query
from queries.proving.bundles import FactKind
from queries.proving.headers import HeaderField
from queries.reading.batches import query_view, transactions_of
from queries.reading.pagination import Cursor, in_portions, slice_of
from queries.reading.view_models import QueryView
from queries.statuses import BatchStatus

BLOCK_AT_TIME = "BLOCK_AT_TIMESTAMP"


@dataclass(frozen=True, slots=True)
class FactView:
    """One word that a registry holds, and of what."""

    kind: FactKind
    source: int
    destination: int
    block: int
    account: str  # empty where it is of a header
    ens_name: str
    name: str  # of the field, or the slot with 0x
    key: int  # the field's number, the slot, or the seconds: as the registry takes it
    word: str


@dataclass(frozen=True, slots=True)
class ProvenFact:
    """A fact, and how it came to be one."""

    fact: FactView
    block_hash: str  # empty where it is no longer known
    transaction_hash: str  # empty where it was in the registry already
    proven: datetime


def facts_of(query: QueryView, destination: int) -> tuple[FactView, ...]:
    """In an order of their own; none before the batch is done."""
    words = {value.name: value.word for value in query.values}
    if not words:
        return ()
    block = query.block or 0
    named: list[tuple[FactKind, str, int]] = []
    if query.timestamp is not None:
        # It is read back with the others, and its value is the block itself.
        words[BLOCK_AT_TIME] = f"0x{block:064x}"
        named.append((FactKind.BLOCK_AT_TIME, BLOCK_AT_TIME, query.timestamp))
    named += ((FactKind.HEADER_FIELD, field, HeaderField[field]) for field in query.header)
    named += ((FactKind.ACCOUNT_FIELD, prop.name, prop) for prop in query.props)
    named += ((FactKind.STORAGE_SLOT, slot, int(slot, 16)) for slot in query.slots)
    place = (query.source, destination, block, query.account, query.name)
    return tuple(
        FactView(kind, *place, name, key, words[name]) for kind, name, key in named if name in words
    )


def proven_facts_of(queries: Iterable[tuple[int, int]]) -> Iterator[ProvenFact]:
    """Those of these queries whose batches are done, in their order.

    They are named by key and count of slots, and some at a time are read.
    """
    # Whether a batch is done is not asked here: SQLite would go through all that are.
    rows = Query.objects.select_related("batch", "job").defer(
        "job__header", "batch__warnings", "batch__webhook_url", "batch__webhook_headers"
    )
    for keys in in_portions(queries):
        some = rows.in_bulk(keys)
        yield from _facts_of_rows([some[key] for key in keys if key in some])


def _facts_of_rows(some: list[Query]) -> Iterator[ProvenFact]:
    done = [row for row in some if row.batch.status == BatchStatus.DONE]
    sent = transactions_of(done)
    for row in done:
        view = query_view(row, sent, done=True)
        step = view.steps[-1]
        transaction_hash = step.transaction_hash or view.steps[-2].transaction_hash
        for fact in facts_of(view, row.batch.destination):
            yield ProvenFact(
                fact,
                f"0x{row.job.block_hash}" if row.job and row.job.block_hash else "",
                transaction_hash,
                step.completed or row.batch.submitted,
            )


def facts_of_batch(batch_id: str) -> Iterator[ProvenFact]:
    """In the order in which they were asked for."""
    rows = Query.objects.filter(batch=batch_id, batch__status=BatchStatus.DONE)
    return proven_facts_of(rows.order_by("pk").values_list("pk", "slot_count"))


MOST_QUERIES = 1_000
MOST_FACTS = 5_000  # and then the rest of the last query's
KEY = ("block", "id")


@dataclass(frozen=True, slots=True)
class Portion:
    """`older`: the cursor of the next one, or empty."""

    facts: Iterator[ProvenFact]
    older: str


def of_account(address: str, chain: int, cursor: Cursor | None) -> Portion:
    rows = Query.objects.filter(account=address, source=chain, values__isnull=False)
    return _portion(rows.exclude(account=""), KEY, cursor)


def of_block(chain: int, number: int, cursor: Cursor | None) -> Portion:
    """All have the one block, so that the rest of a key orders them."""
    rest = Cursor(cursor.key[1:]) if cursor else None
    return _portion(Query.objects.filter(source=chain, block=number), KEY[1:], rest)


def of_registry(source: int, destination: int, cursor: Cursor | None) -> Portion:
    """The source's queries, from the newest block downwards that has a job for the destination."""
    jobs = BlockJob.objects.filter(source=source, destination=destination).order_by("-block")
    below = jobs if cursor is None else jobs.filter(block__lte=cursor.key[0])
    newest = below.values_list("block", flat=True)[:1]
    rows = Query.objects.filter(source=source, block__lte=Subquery(newest))
    return _portion(rows, KEY, cursor, destination)


def _portion(
    rows: QuerySet[Query],
    columns: tuple[str, ...],
    cursor: Cursor | None,
    destination: int | None = None,
) -> Portion:
    rows = rows.only(*KEY, "batch_id", "props", "slot_count", "header_fields")
    asked = slice_of(rows, columns, cursor, MOST_QUERIES, lambda row: row)
    batches = {each.batch_id for each in asked.rows}
    done = Batch.objects.filter(pk__in=batches, status=BatchStatus.DONE)
    to = dict(done.values_list("pk", "destination"))
    found, facts, last = list[tuple[int, int]](), 0, ""
    for each in asked.rows:
        if facts >= MOST_FACTS:
            return Portion(proven_facts_of(found), last)
        last = f"{each.block}.{each.pk}"
        if each.batch_id in to and destination in {None, to[each.batch_id]}:
            fields = each.props.bit_count() + each.header_fields.bit_count()
            facts += each.slot_count + fields
            found.append((each.pk, each.slot_count))
    return Portion(proven_facts_of(found), last if asked.older else "")
