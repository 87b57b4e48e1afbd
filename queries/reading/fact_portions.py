"""The facts of an account, a block or a registry, newest block first, so many as a file holds.

Which queries are in it is settled before the first of its facts is read, so that a file can say at
its head where the next one begins. What is walked through is bounded, not only what is found: a
query whose batch is not done, or is for another destination, counts too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from queries.models import Batch, BlockJob, Query
from queries.reading.facts import ProvenFact, proven_facts_of
from queries.reading.slices import Cursor, Slice, slice_of
from queries.statuses import BatchStatus

MOST_QUERIES = 1_000
MOST_FACTS = 5_000  # and then the rest of the last query's
AT_ONCE = 500  # queries that one statement finds
KEY = ("block", "id")


@dataclass(frozen=True, slots=True)
class Portion:
    """`older`: the cursor of the next one, or empty."""

    facts: Iterator[ProvenFact]
    older: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query, before its facts are read."""

    key: tuple[int, int]
    batch: str
    slots: int  # that it asks for
    fields: int


def of_account(address: str, chain: int, cursor: Cursor | None) -> Portion:
    rows = Query.objects.filter(account=address, source=chain, values__isnull=False)
    return _portion(_each(rows.exclude(account=""), cursor))


def of_block(chain: int, number: int, cursor: Cursor | None) -> Portion:
    """All have the one block, so that the rest of a key orders them."""
    rest = Cursor(cursor.key[1:]) if cursor else None
    return _portion(_each(Query.objects.filter(source=chain, block=number), rest, KEY[1:]))


def of_registry(source: int, destination: int, cursor: Cursor | None) -> Portion:
    return _portion(_each_of_registry(source, destination, cursor), destination)


def _portion(asked: Iterable[tuple[_Asked, ...]], destination: int | None = None) -> Portion:
    found, walked, facts, last = list[tuple[int, int]](), 0, 0, (0, 0)
    for some in asked:
        wanted = _batches(some, destination)
        for each in some:
            if walked >= MOST_QUERIES or facts >= MOST_FACTS:
                return Portion(proven_facts_of(found), f"{last[0]}.{last[1]}")
            walked, last = walked + 1, each.key
            if each.batch in wanted:
                facts += each.slots + each.fields
                found.append((each.key[1], each.slots))
    return Portion(proven_facts_of(found), "")


def _batches(asked: Iterable[_Asked], destination: int | None) -> set[str]:
    """Those whose facts are in the file."""
    rows = Batch.objects.filter(pk__in={each.batch for each in asked}, status=BatchStatus.DONE)
    found = rows.values_list("pk", "destination")
    return {pk for pk, to in found if destination in {None, to}}


def _each(
    rows: QuerySet[Query], cursor: Cursor | None, columns: tuple[str, ...] = KEY
) -> Iterator[tuple[_Asked, ...]]:
    while (found := _some(rows, cursor, columns)).rows:
        yield found.rows
        if not found.older:
            return
        cursor = Cursor(found.rows[-1].key[-len(columns) :])


def _each_of_registry(
    source: int, destination: int, cursor: Cursor | None
) -> Iterator[tuple[_Asked, ...]]:
    """Of the source's queries; blocks between that it was not asked for are leapt over."""
    jobs = BlockJob.objects.filter(source=source, destination=destination).order_by("-block")
    rows = Query.objects.filter(source=source)
    while True:
        below = jobs if cursor is None else jobs.filter(block__lte=cursor.key[0])
        block = below.values_list("block", flat=True).first()
        if block is None:
            return
        found = _some(rows.filter(block__lte=block), cursor, KEY).rows
        if not found:
            return
        yield found
        cursor = Cursor(found[-1].key)


def _some(rows: QuerySet[Query], cursor: Cursor | None, columns: tuple[str, ...]) -> Slice[_Asked]:
    rows = rows.only(*KEY, "batch_id", "props", "slot_count", "header_fields")
    return slice_of(rows, columns, cursor, AT_ONCE, _asked)


def _asked(row: Query) -> _Asked:
    fields = row.props.bit_count() + row.header_fields.bit_count()
    return _Asked((row.block or 0, row.pk), row.batch_id, row.slot_count, fields)
