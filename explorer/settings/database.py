"""The database that DATABASE_URL names, as Django's settings.

Leases and guarded updates are built for, and tested on, SQLite and PostgreSQL. An SQLite file is
made readable by its user alone, because it holds the headers of clients' webhooks; SQLite would
make it readable by all. One that exists keeps its mode.
"""

import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

SQLITE = "django.db.backends.sqlite3"
POSTGRESQL = "django.db.backends.postgresql"
ENGINES = {"sqlite": SQLITE, "postgres": POSTGRESQL, "postgresql": POSTGRESQL}
OPTIONS = {
    SQLITE: set[str](),
    POSTGRESQL: {
        "application_name", "connect_timeout", "options", "sslcert", "sslkey", "sslmode",
        "sslrootcert", "target_session_attrs",
    },
}  # fmt: skip


def database(url: str, default_file: Path) -> dict[str, Any]:
    """Django's settings for `url`, or for `default_file`, whose path may not be valid in a URL."""
    if url:
        named = _parsed(url)
    else:
        default_file.parent.mkdir(exist_ok=True)
        named = {"ENGINE": SQLITE, "NAME": default_file}
    options = named.setdefault("OPTIONS", {})
    if named["ENGINE"] == SQLITE:
        # WAL lets readers go on while one writes. NORMAL spares a wait for the disk at each commit,
        # which took a hundred times as long; a power failure, unlike a crash, may then undo the
        # last commits, whole. IMMEDIATE takes the write lock at BEGIN, where
        # the timeout applies; a lock taken in the middle of a transaction fails at once instead.
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            "factory": PrivateFile,
        }
        # Opening the file for each request took two thirds of the request's time. It is opened
        # again soon all the same, because another file may have been put in its place.
        named["CONN_MAX_AGE"] = 5
    else:
        # A server that is gone without a word is noticed within half a minute.
        defaults = {"connect_timeout": 5, "keepalives_idle": 15, "tcp_user_timeout": 30_000}
        named["OPTIONS"] = defaults | options
        named |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    return named


def _parsed(url: str) -> dict[str, Any]:
    """No refusal repeats a part of the address: it holds a password, and may be cut wrongly."""
    try:
        parts = urlsplit(url)
        known = OPTIONS[ENGINES[parts.scheme]]
        named: dict[str, Any] = environ.Env.db_url_config(url)
    except (ImproperlyConfigured, KeyError, ValueError):
        named = {}
    if named.get("NAME") in {None, "", ":memory:"}:
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read. Set it to postgres://user:password@host/name or "
            "sqlite:////folder/file.sqlite3; Tacitus runs on these two. Special characters in the "
            "password are percent-encoded, such as %40 for @."
        )
    if named["ENGINE"] == SQLITE and not Path(named["NAME"]).is_absolute():
        raise ImproperlyConfigured(
            "DATABASE_URL names a file relative to the folder that a command runs in, so two "
            "commands could have two databases. Name it from the root on, with four slashes: "
            "sqlite:////folder/file.sqlite3."
        )
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    if set(given) - known:
        raise ImproperlyConfigured(
            "DATABASE_URL ends in an option that is not known. "
            f"Known are: {', '.join(sorted(known)) or 'none, for SQLite'}."
        )
    if not re.fullmatch("[1-9][0-9]{0,3}", given.get("connect_timeout", "5")):
        raise ImproperlyConfigured(
            "DATABASE_URL's connect_timeout is not understood; set it to a number of seconds."
        )
    return named


MODE = 0o600
# Closing a file ends all locks that its process has on it (POSIX), also those of other threads. So
# no thread connects to a new file before it is closed, and an existing one is not opened.
_making = Lock()


class PrivateFile(sqlite3.Connection):
    """Creates a missing database file, readable to its user alone, before connecting."""

    def __init__(self, database: str | Path, *arguments: Any, **named: Any) -> None:
        if Path(database).is_absolute():  # and neither in memory nor a URI
            _make(database)
        super().__init__(database, *arguments, **named)


def _make(file: str | Path) -> None:
    # SQLite reports any other error itself.
    with _making, suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, MODE))
