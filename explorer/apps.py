"""The explorer as an application, and its check of settings."""

import sqlite3

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register
from django.db import connection


class ExplorerConfig(AppConfig):
    """The project's window: pages, health, logs."""

    name = "explorer"

    def ready(self) -> None:
        register(sqlite_is_new_enough)


# The first version with RETURNING, which counting of limits needs.
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
