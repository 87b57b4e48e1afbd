"""Statements of our own, where the ORM takes too long.

A batch's queries are stored and changed by one statement, however many they are. What polling asks
is read without making models, which takes longer than the database takes to answer.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from django.db import connection

from queries.models import Query

if TYPE_CHECKING:
    from django.db.models import Field


def ready_to_insert(queries: Sequence[Query]) -> Callable[[], None]:
    """What stores them. To make a thousand rows ready takes four times as long as to store them,
    and is done before, because SQLite's one writer is held meanwhile.

    Django sends SQLite at most 999 values in a statement, so 500 queries took fourteen of them,
    each prepared anew. Here SQLite prepares one INSERT and runs it for each row, 500 times, which
    Django counts as one statement. There is no way to a server between, so a run costs little.
    """
    if connection.vendor != "sqlite":
        return lambda: _create(queries)
    fields = [field for field in Query._meta.concrete_fields if not field.primary_key]  # noqa: SLF001
    columns = ", ".join(map(_column, fields))
    marks = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {_table()} ({columns}) VALUES ({marks})"  # noqa: S608
    rows = _rows(queries, fields)
    return lambda: _run(sql, rows)


def _create(queries: Sequence[Query]) -> None:
    Query.objects.bulk_create(queries)


def update(queries: Sequence[Query], names: Sequence[str]) -> None:
    """These fields of rows that are there.

    Django's way is a CASE with a WHEN for each row, gone through for each row: for a thousand
    queries it took five times as long. A PostgreSQL server is sent all rows before it answers.
    """
    fields = [field for field in Query._meta.concrete_fields if field.name in names]  # noqa: SLF001
    key = Query._meta.pk  # noqa: SLF001
    changes = ", ".join(f"{_column(field)} = %s" for field in fields)
    sql = f"UPDATE {_table()} SET {changes} WHERE {_column(key)} = %s"  # noqa: S608
    _run(sql, _rows(queries, [*fields, key]))


def _rows(queries: Sequence[Query], fields: "Sequence[Field[Any, Any]]") -> list[list[Any]]:
    return [
        [field.get_db_prep_save(getattr(query, field.attname), connection) for field in fields]
        for query in queries
    ]


def _run(sql: str, rows: list[list[Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def _table() -> str:
    return connection.ops.quote_name(Query._meta.db_table)  # noqa: SLF001


def _column(field: "Field[Any, Any]") -> str:
    return connection.ops.quote_name(str(field.column))


Convert = Callable[[Any], Any]


def time(value: datetime | str | None) -> datetime | None:
    """SQLite gives what stands in a column without its zone, and what is computed as text."""
    read = datetime.fromisoformat(value) if isinstance(value, str) else value
    return read.replace(tzinfo=UTC) if read is not None and read.tzinfo is None else read


def from_json(value: str | None) -> Any:
    return None if value is None else json.loads(value)


def select(names: Iterable[str], table: str, rest: str) -> str:
    """A statement that reads these columns of a table, and goes on with `rest`."""
    columns = ", ".join(f'{table}."{name}"' for name in names)
    return f"SELECT {columns} {rest}"


def raw_rows(
    statement: str,
    parameters: Sequence[str | int],
    names: Sequence[str],
    converted: Mapping[str, Convert],
) -> list[SimpleNamespace]:
    """`names` are those of the columns, in their order."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        found = cursor.fetchall()
    rows = []
    for values in found:
        row = dict(zip(names, values, strict=True))
        for name, convert in converted.items():
            row[name] = convert(row[name])
        rows.append(SimpleNamespace(**row))
    return rows


# Goes from owner to owner through an index, so the number of deliveries does not matter.
_NEXT_DELIVERY_OWNER = """
    WITH RECURSIVE owners(id) AS (
        SELECT MIN(owner_id) FROM queries_webhookdelivery WHERE look_again IS NOT NULL
        UNION ALL
        SELECT (
            SELECT MIN(owner_id) FROM queries_webhookdelivery
            WHERE look_again IS NOT NULL AND owner_id > owners.id
        )
        FROM owners WHERE owners.id IS NOT NULL
    ),
    due(owner_id, since) AS (
        SELECT id, (
            SELECT MIN(look_again) FROM queries_webhookdelivery
            WHERE owner_id = owners.id AND look_again <= %s
        )
        FROM owners
    )
    SELECT owner_id FROM due
    WHERE since IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM queries_webhookdelivery
        WHERE owner_id = due.owner_id AND lease_until > %s
    )
    ORDER BY since LIMIT 1
"""


def next_delivery_owner(now: datetime) -> int | None:
    """The account whose webhook has been due for longest, of those that have none in progress."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_DELIVERY_OWNER, 2 * [connection.ops.adapt_datetimefield_value(now)])
        row = cursor.fetchone()
    return row[0] if row else None
