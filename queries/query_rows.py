"""A batch's queries are stored and changed: by one statement, however many they are."""

from collections.abc import Callable, Sequence
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
