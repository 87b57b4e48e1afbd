"""A database of a test's own for processes, of the kind that is under test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection


@contextmanager
def own_database(folder: Path, name: str) -> Iterator[str]:
    """Its DATABASE_URL. It is empty, and gone afterwards."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{folder}/{name}.sqlite3"
        return
    known = connection.settings_dict
    server = {"user": known["USER"], "password": known["PASSWORD"], "host": known["HOST"]}
    given = {key: value for key, value in server.items() if value}
    port, full = known["PORT"] or 5432, f"{known['NAME']}_{name}"
    with psycopg.connect(**given, port=port, dbname="postgres", autocommit=True) as beside:
        beside.execute(f'DROP DATABASE IF EXISTS "{full}" WITH (FORCE)')
        beside.execute(f'CREATE DATABASE "{full}"')
        try:
            user = ":".join(filter(None, (known["USER"], known["PASSWORD"])))
            yield f"postgres://{user}@{known['HOST']}:{port}/{full}"
        finally:
            beside.execute(f'DROP DATABASE "{full}" WITH (FORCE)')
