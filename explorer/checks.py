"""What `manage.py check` looks at beside Django's own."""

import sqlite3

from django.core.checks import CheckMessage, Error
from django.db import connection

# Which can return what an INSERT that met another row has written: limits are counted so.
OLDEST_SQLITE = (3, 35, 0)


def sqlite_is_new_enough(**_: object) -> list[CheckMessage]:
    if connection.vendor != "sqlite" or sqlite3.sqlite_version_info >= OLDEST_SQLITE:
        return []
    oldest = ".".join(map(str, OLDEST_SQLITE))
    return [
        Error(
            f"This Python comes with SQLite {sqlite3.sqlite_version}; Tacitus needs {oldest}.",
            hint="Take a newer Python, or PostgreSQL (DATABASE_URL).",
            id="explorer.E001",
        )
    ]
