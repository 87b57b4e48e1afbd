"""A database of processes, written to and read without Django, as an operator might."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
from psycopg import sql

SQLITE = "sqlite:///"


def change(url: str, table: str, column: str, to: str, row: str) -> None:
    """One row, by its `id`."""
    if url.startswith(SQLITE):
        with closing(sqlite3.connect(url.removeprefix(SQLITE), timeout=30)) as file, file:
            file.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE id = ?', [to, row])  # noqa: S608
        return
    named = sql.Identifier(table), sql.Identifier(column)
    with psycopg.connect(url) as server:
        server.execute(sql.SQL("UPDATE {} SET {} = %s WHERE id = %s").format(*named), [to, row])


def all_of_it(url: str) -> Iterator[tuple[str, str]]:
    """Files or tables, by name, and what is in them."""
    if url.startswith(SQLITE):
        file = Path(url.removeprefix(SQLITE))
        for each in file.parent.glob(f"{file.name}*"):
            yield each.name, each.read_bytes().decode("latin-1")
        return
    with psycopg.connect(url) as server:
        tables = server.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        )
        for (name,) in tables.fetchall():
            rows = server.execute(
                sql.SQL("SELECT whole::text FROM {} AS whole").format(sql.Identifier(name))
            )
            yield name, "\n".join(text for (text,) in rows)
