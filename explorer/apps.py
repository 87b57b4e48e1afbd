"""The explorer's app configuration, with a check of SQLite's version."""

import sqlite3

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register
from django.db import connection


class ExplorerConfig(AppConfig):
    name = "explorer"

    def ready(self) -> None:
        register(check_sqlite_version)


# The first version with RETURNING, which the rate limits' counters need.
MIN_SQLITE_VERSION = (3, 35, 0)


def check_sqlite_version(**_: object) -> list[CheckMessage]:
    if connection.vendor != "sqlite" or sqlite3.sqlite_version_info >= MIN_SQLITE_VERSION:
        return []
    required = ".".join(map(str, MIN_SQLITE_VERSION))
    return [
        Error(
            f"This Python has SQLite {sqlite3.sqlite_version}; Tacitus needs {required}.",
            hint="Use a newer Python, or PostgreSQL (DATABASE_URL).",
            id="explorer.E001",
        )
    ]
