"""A database of its own for a measurement; the configured one is neither read nor written."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import connection


@contextmanager
def scratch_database() -> Iterator[None]:
    """Inside, models are kept in a new database with empty tables, which is gone afterwards.

    A file in a temporary folder, or, on PostgreSQL, another database of the same server.
    """
    configured = connection.settings_dict["NAME"]
    with TemporaryDirectory(prefix="tacitus-") as folder:
        name = f"tacitus_scratch_{secrets.token_hex(6)}"
        if connection.vendor == "sqlite":
            name = str(Path(folder) / name)
        connection.settings_dict["TEST"]["NAME"] = name
        try:
            connection.creation.create_test_db(verbosity=0, serialize=False)
            yield
        finally:
            if connection.settings_dict["NAME"] == name:
                connection.creation.destroy_test_db(str(configured), verbosity=0)


def database_bytes() -> int:
    """What all of it takes, with its indexes."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])
