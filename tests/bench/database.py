"""Scratch databases for measurements, and a fast way to fill them."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from django.db import connection, models

from accounts.keys import manage
from accounts.models import Account
from accounts.wallets import Wallet
from tests.bench.command import BenchError

OWNER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


@contextmanager
def scratch_database() -> Iterator[str]:
    """Yield the DATABASE_URL of a new database, which models use until it is deleted at the end.

    It is a file in a temporary folder, or another database on the same PostgreSQL server.
    """
    configured = connection.settings_dict["NAME"]
    with TemporaryDirectory(prefix="tacitus-") as folder:
        name = f"tacitus_scratch_{secrets.token_hex(6)}"
        if connection.vendor == "sqlite":
            name = str(Path(folder) / name)
        connection.settings_dict["TEST"]["NAME"] = name
        try:
            connection.creation.create_test_db(verbosity=0, serialize=False)
            yield _database_url()
        finally:
            if connection.settings_dict["NAME"] == name:
                connection.creation.destroy_test_db(str(configured), verbosity=0)


def _database_url() -> str:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    user, password = (quote(str(database[name]), safe="") for name in ("USER", "PASSWORD"))
    login = f"{user}:{password}" if password else user
    return f"postgres://{login}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"


def database_bytes() -> int:
    """The size of the database, with its indexes."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])


def new_key() -> str:
    """An API key of the scratch database."""
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(OWNER))
    text = manage.reveal(manage.add_key(owner, "Bench"))
    if text is None:
        raise BenchError("The bench cannot make an API key.")
    return text


class Table:
    """Writes many rows of a model without `save` and without the checks of a status change."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.fields = model._meta.concrete_fields
        self.places = {field.attname: place for place, field in enumerate(self.fields)}

    def row(self, instance: models.Model) -> list[Any]:
        """The values of an instance, prepared for the database."""
        return [
            field.get_db_prep_save(getattr(instance, field.attname), connection)
            for field in self.fields
        ]

    def copy(self, row: Sequence[Any], **changes: object) -> list[Any]:
        """Copy a row with other values, which is much faster than another instance."""
        changed = list(row)
        for name, value in changes.items():
            changed[self.places[name]] = value
        return changed

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        quoted = connection.ops.quote_name
        table = quoted(self.model._meta.db_table)
        columns = ", ".join(quoted(str(field.column)) for field in self.fields)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
            else:
                marks = ", ".join(["%s"] * len(self.fields))
                insert = f"INSERT INTO {table} ({columns}) VALUES ({marks})"
                cursor.executemany(insert, rows)  # type: ignore[arg-type]  # takes any iterable


@contextmanager
def deferred_indexes(model: type[models.Model]) -> Iterator[None]:
    """Build the indexes at the end, which is many times as fast as row by row."""
    indexes = model._meta.indexes
    with connection.schema_editor() as editor:
        for index in indexes:
            editor.remove_index(model, index)
    yield
    with connection.schema_editor() as editor:
        for index in indexes:
            editor.add_index(model, index)
