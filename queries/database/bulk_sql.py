"""SQL for what is too slow with the ORM."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from queries.models import Query


# For `make bench ROWS=many_batches_1`.
def prepare_insert(queries: Sequence[Query]) -> Callable[[], object]:
    """Return a function that inserts these queries.

    SQLite has one writer, so its rows are converted beforehand, which takes four times as long as
    the insert. One statement inserts them; `bulk_create` runs 14 for 500 queries.
    """
    if connection.vendor != "sqlite":
        return lambda: Query.objects.bulk_create(queries)
    quote = connection.ops.quote_name
    fields = [field for field in Query._meta.concrete_fields if not field.primary_key]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places, table = ", ".join(["%s"] * len(fields)), quote(Query._meta.db_table)
    sql = f"INSERT INTO {table} ({columns}) VALUES ({places})"  # noqa: S608
    rows = [
        [field.get_db_prep_save(getattr(query, field.attname), connection) for field in fields]
        for query in queries
    ]

    def insert() -> None:
        with connection.cursor() as cursor:
            cursor.executemany(sql, rows)

    return insert


def parse_time(value: datetime | str | None) -> datetime | None:
    """Parse a raw value: SQLite returns columns without a zone, and computed times as text."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


# For `make bench ROWS=status_polling` and the batch in progress of `page_speed`. The ORM takes ten
# times as long to build and read such a statement.
def fetch_rows(
    statement: str, parameters: Sequence[int | str], names: Sequence[str], times: Collection[str]
) -> list[Any]:
    """Run a SELECT, and return its rows with these columns."""
    return name_columns(fetch_values(statement, parameters), names, times)


def fetch_values(statement: str, parameters: Sequence[int | str]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def name_columns(
    rows: Iterable[tuple[Any, ...]], names: Sequence[str], times: Collection[str]
) -> list[Any]:
    named = (dict(zip(names, values, strict=True)) for values in rows)
    return [
        SimpleNamespace(**row | {name: parse_time(row[name]) for name in times}) for row in named
    ]


# Threads ask for it ten times a second, so one statement reads all queues. Not `MIN`: SQLite would
# read all rows that are not queued.
def first_due(queues: Iterable[QuerySet[Any]]) -> datetime | None:
    """When the first row of these queues is due; None if they are empty."""
    parts, parameters = list[str](), list[Any]()
    for queue in queues:
        rows = queue.filter(due_at__isnull=False).order_by("due_at").values_list("due_at")[:1]
        with suppress(EmptyResultSet):  # no row can match
            sql, more = rows.query.sql_with_params()
            parts.append(f"SELECT due_at FROM ({sql}) AS queue_{len(parts)}")  # noqa: S608
            parameters += more
    if not parts:
        return None
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        return min((due for (value,) in cursor if (due := parse_time(value))), default=None)


# For `make bench ROWS=claim_post`: goes from owner to owner through an index, so the number of
# webhooks does not matter.
_NEXT_POST_OWNER = """
    WITH RECURSIVE owners(id) AS (
        SELECT MIN(owner_id) FROM queries_webhookpost WHERE due_at IS NOT NULL
        UNION ALL
        SELECT (
            SELECT MIN(owner_id) FROM queries_webhookpost
            WHERE due_at IS NOT NULL AND owner_id > owners.id
        )
        FROM owners WHERE owners.id IS NOT NULL
    ),
    due(owner_id, since) AS (
        SELECT id, (
            SELECT MIN(due_at) FROM queries_webhookpost
            WHERE owner_id = owners.id AND due_at <= %s
        )
        FROM owners
    )
    SELECT owner_id FROM due
    WHERE since IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM queries_webhookpost
        WHERE owner_id = due.owner_id AND lease_until > %s
    )
    ORDER BY since LIMIT 1
"""


def next_post_owner(now: datetime) -> int | None:
    """The account whose webhook has been due for longest, of those that have none in progress."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_POST_OWNER, 2 * [connection.ops.adapt_datetimefield_value(now)])
        row = cursor.fetchone()
    return row[0] if row else None
