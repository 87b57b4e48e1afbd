"""Rows by a statement of our own, for what polling asks.

For these the ORM takes longer, to put the statement together and to make models, than the database
takes to answer. A row has the names and values that the model has.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from django.db import connection

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
