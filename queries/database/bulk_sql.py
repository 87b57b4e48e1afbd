"""SQL for statements that are too slow with the ORM.

A batch's queries are stored and changed by one statement. Polling reads rows without model
instances, because creating those takes longer than the database does.
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


def prepare_insert(queries: Sequence[Query]) -> Callable[[], object]:
    """Return a function that inserts these queries.

    SQLite has one writer, so its rows are converted beforehand, which takes four times as long as
    the insert. One statement inserts them; `bulk_create` runs 14 for 500 queries.
    """
    if connection.vendor != "sqlite":
        return lambda: Query.objects.bulk_create(queries)
    fields = [field for field in Query._meta.concrete_fields if not field.primary_key]
    columns = ", ".join(map(_column_name, fields))
    placeholders = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {_table_name()} ({columns}) VALUES ({placeholders})"  # noqa: S608
    rows = _column_values(queries, fields)
    return lambda: _execute_many(sql, rows)


def update(queries: Sequence[Query], names: Sequence[str]) -> None:
    """Update these fields of existing rows.

    Django's `bulk_update`, a CASE with a WHEN per row, took five times as long for 1,000 queries.
    """
    fields = [field for field in Query._meta.concrete_fields if field.name in names]
    key = Query._meta.pk
    changes = ", ".join(f"{_column_name(field)} = %s" for field in fields)
    sql = f"UPDATE {_table_name()} SET {changes} WHERE {_column_name(key)} = %s"  # noqa: S608
    _execute_many(sql, _column_values(queries, [*fields, key]))


def _column_values(
    queries: Sequence[Query], fields: "Sequence[Field[Any, Any]]"
) -> list[list[Any]]:
    return [
        [field.get_db_prep_save(getattr(query, field.attname), connection) for field in fields]
        for query in queries
    ]


def _execute_many(sql: str, rows: list[list[Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def _table_name() -> str:
    return connection.ops.quote_name(Query._meta.db_table)


def _column_name(field: "Field[Any, Any]") -> str:
    return connection.ops.quote_name(str(field.column))


Converter = Callable[[Any], Any]


def parse_time(value: datetime | str | None) -> datetime | None:
    """Parse a raw value: SQLite returns columns without a zone, and computed times as text."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def parse_json(value: str | None) -> Any:
    return None if value is None else json.loads(value)


def select_statement(names: Iterable[str], table: str, rest: str) -> str:
    """A SELECT of these columns of a table, followed by `rest`."""
    columns = ", ".join(f'{table}."{name}"' for name in names)
    return f"SELECT {columns} {rest}"


def fetch_rows(
    statement: str,
    parameters: Sequence[str | int],
    names: Sequence[str],
    converters: Mapping[str, Converter],
) -> list[SimpleNamespace]:
    """Run a SELECT and return its rows.

    `names`: its columns, in order. `converters`: for raw values, by column.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        records = cursor.fetchall()
    rows = []
    for values in records:
        row = dict(zip(names, values, strict=True))
        for name, convert in converters.items():
            row[name] = convert(row[name])
        rows.append(SimpleNamespace(**row))
    return rows


# Goes from owner to owner through an index, so the number of deliveries does not matter.
_NEXT_DELIVERY_OWNER = """
    WITH RECURSIVE owners(id) AS (
        SELECT MIN(owner_id) FROM queries_webhookdelivery WHERE due_at IS NOT NULL
        UNION ALL
        SELECT (
            SELECT MIN(owner_id) FROM queries_webhookdelivery
            WHERE due_at IS NOT NULL AND owner_id > owners.id
        )
        FROM owners WHERE owners.id IS NOT NULL
    ),
    due(owner_id, since) AS (
        SELECT id, (
            SELECT MIN(due_at) FROM queries_webhookdelivery
            WHERE owner_id = owners.id AND due_at <= %s
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
