"""The values that a feed's runs have proven: those of its whole life, and page by page."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db import connection
from django.db.models import Count
from django.db.models.fields.json import KT
from ulid import ULID

from queries.models import BlockJob, Delivery, Fact, FeedRun, Query
from queries.proving import decode_header
from queries.reading.facts import FactView, query_facts, read_words, with_proof
from queries.reading.pagination import Cursor, Page, read_page
from queries.statuses import BatchStatus, DeliveryState

MAX_POINTS = 120  # of a feed's history
MAX_COUNTED_RUNS = 1_000
MAX_NEWEST_RUNS = 10  # in which the newest value is looked for
MAX_VALUES = 1_000  # in a file

_NEWEST_OF_SPAN = """
    SELECT * FROM (
        SELECT run.id, run.batch_id, batch.status
        FROM queries_feedrun AS run LEFT JOIN queries_batch AS batch ON batch.id = run.batch_id
        WHERE run.feed_id = %s AND run.id > %s AND run.id <= %s AND run.submitted_at IS NOT NULL
            AND {} ORDER BY run.id DESC LIMIT 1
    ) AS newest
"""
_IS_DONE = "batch.status = 'DONE'"
_HAS_ENDED = "(batch.id IS NULL OR batch.status IN ('DONE', 'REJECTED'))"


def feed_history(feed_id: str) -> tuple[Sequence[FactView | None], bool]:
    """The first value of each run, oldest first, with None for runs that have failed; and whether
    runs are left out.

    Of more than `MAX_POINTS` runs, these are the newest value of each of so many equal spans of
    time, and None if the newest run of a span has failed.
    """
    runs = FeedRun.objects.filter(feed=feed_id, submitted_at__isnull=False)
    columns = "id", "batch", "batch__status"
    rows = list(runs.order_by("-id").values_list(*columns)[: MAX_POINTS + 1])
    is_thinned = len(rows) > MAX_POINTS
    if is_thinned:
        oldest = runs.order_by("id").values_list("id", flat=True)[0]
        rows = _newest_of_spans(feed_id, oldest, rows[0][0])
    values = first_values([batch for _, batch, _ in rows if batch])
    history = list[FactView | None]()
    for _, batch, status in sorted(rows):
        if batch is None or status == BatchStatus.REJECTED:
            history.append(None)
        elif batch in values:
            history.append(values[batch])
    return history, is_thinned


def _newest_of_spans(feed_id: str, oldest: str, newest: str) -> list[tuple[str, str | None, str]]:
    """Of each span the newest run that is DONE, and the newest one that has ended."""
    first, last = (int(ULID.from_str(run_id)) for run_id in (oldest, newest))
    ends = [first - 1 + (last - first + 1) * n // MAX_POINTS for n in range(MAX_POINTS + 1)]
    limits = [str(ULID.from_int(end)) for end in ends]
    statements, parameters = [], list[str]()
    for start, end in pairwise(limits):
        for condition in (_IS_DONE, _HAS_ENDED):
            statements.append(_NEWEST_OF_SPAN.format(condition))
            parameters += (feed_id, start, end)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(statements), parameters)
        return list(cursor.fetchall())


def newest_values(feed_ids: Iterable[str]) -> Mapping[str, FactView]:
    """The newest value of each feed, if one of its newest runs has one."""
    batches = dict[str, Sequence[str]]()
    for feed_id in feed_ids:
        runs = FeedRun.objects.filter(feed=feed_id, batch__isnull=False).order_by("-id")
        batches[feed_id] = list(runs.values_list("batch", flat=True)[:MAX_NEWEST_RUNS])
    values = first_values([batch for newest in batches.values() for batch in newest])
    found = {
        feed_id: next((values[batch] for batch in newest if batch in values), None)
        for feed_id, newest in batches.items()
    }
    return {feed_id: value for feed_id, value in found.items() if value}


def delivery_counts(feed_id: str) -> Mapping[DeliveryState, int]:
    """The deliveries of the feed's newest `MAX_COUNTED_RUNS` runs, by their state."""
    runs = FeedRun.objects.filter(feed=feed_id, batch__isnull=False).order_by("-id")
    batches = list(runs.values_list("batch", flat=True)[:MAX_COUNTED_RUNS])
    rows = Delivery.objects.filter(batch__in=batches).values_list("state")
    return {DeliveryState(state): n for state, n in rows.annotate(n=Count("pk")).order_by("state")}


@dataclass(frozen=True, slots=True)
class FeedValue:
    """The first value of a run, and how it was proven."""

    batch: str
    fact: FactView
    timestamp: int | None  # of its block


def feed_value_page(feed_id: str, cursor: Cursor | None) -> Page[FeedValue]:
    """Values of the feed's runs that are DONE, newest first."""
    runs = FeedRun.objects.filter(feed=feed_id, batch__status=BatchStatus.DONE)
    page = read_page(runs, ("id",), cursor, MAX_VALUES)
    return page.with_rows(_proven_values([run.batch_id or "" for run in page.rows]))


def _proven_values(batch_ids: Sequence[str]) -> Iterator[FeedValue]:
    values = first_values(batch_ids)
    queries = Query.objects.filter(batch__in=values, position=0)
    jobs = dict(queries.values_list("batch", "job"))
    names = {fact.identity.name for fact in values.values()}
    rows = Fact.objects.filter(job__in=jobs.values(), name__in=names, proven_at__isnull=False)
    rows = rows.select_related("job", "transaction").defer("transaction__raw")
    stored = {(row.job_id, row.account, row.name): row for row in rows}
    headers = BlockJob.objects.filter(pk__in=jobs.values()).exclude(header=None)
    times = {
        job: decode_header(header).timestamp for job, header in headers.values_list("pk", "header")
    }
    for batch in batch_ids:
        if fact := values.get(batch):
            row = stored.get((jobs[batch] or 0, fact.account, fact.identity.name))
            yield FeedValue(
                batch, with_proof(fact, row) if row else fact, times.get(jobs[batch] or 0)
            )


def first_values(batch_ids: Collection[str]) -> Mapping[str, FactView]:
    """The first fact of each batch that is DONE."""
    queries = Query.objects.filter(
        batch__in=batch_ids, batch__status=BatchStatus.DONE, position=0, failed=False
    )
    # Not all slots, of which there may be thousands.
    rows = list(
        queries.select_related("batch")
        .defer("slots", "event_names", "spelling")
        .annotate(first_slot=KT("slots__0"), first_event=KT("event_names__0"))
    )
    for row in rows:
        row.slots = list(filter(None, [vars(row)["first_slot"]]))
        row.event_names = list(filter(None, [vars(row)["first_event"]]))
    words, values = read_words(rows), dict[str, FactView]()
    for row in rows:
        facts = query_facts(row, row.batch.destination, words, is_proven=True)
        if value := next((fact for fact in facts if fact.word and not fact.is_time), None):
            values[row.batch_id] = value
    return values
