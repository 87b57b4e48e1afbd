"""Django's settings for the database in DATABASE_URL.

Leases and guarded updates are built for, and tested on, SQLite and PostgreSQL. A new SQLite file is
readable only by its user, because it contains the headers of clients' webhooks; SQLite would make
it readable by all. An existing file keeps its mode.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

SQLITE = "django.db.backends.sqlite3"
MIN_SQLITE_VERSION = (3, 35, 0)  # the first one with RETURNING, which the rate limits need
POSTGRESQL = "django.db.backends.postgresql"
ENGINES = {"sqlite": SQLITE, "postgres": POSTGRESQL, "postgresql": POSTGRESQL}
URL_OPTIONS = {
    SQLITE: set[str](),
    POSTGRESQL: {
        "application_name", "connect_timeout", "options", "sslcert", "sslkey", "sslmode",
        "sslrootcert", "target_session_attrs",
    },
}  # fmt: skip


def database(url: str, default_file: Path) -> dict[str, Any]:
    """Django's settings for `url`, or for `default_file`, whose path may not be valid in a URL."""
    if url:
        config = _parse_url(url)
    else:
        default_file.parent.mkdir(exist_ok=True)
        config = {"ENGINE": SQLITE, "NAME": default_file}
    options = config.setdefault("OPTIONS", {})
    if config["ENGINE"] == SQLITE:
        if sqlite3.sqlite_version_info < MIN_SQLITE_VERSION:
            raise ImproperlyConfigured(
                f"This Python has SQLite {sqlite3.sqlite_version}; Tacitus needs 3.35. Use a newer "
                "Python, or PostgreSQL (DATABASE_URL)."
            )
        # WAL lets readers continue during a write. NORMAL does not wait for the disk at each
        # commit, which took a hundred times as long; a power failure, unlike a crash, may undo the
        # last whole commits. IMMEDIATE takes the write lock at BEGIN, where the timeout applies; a
        # lock taken later in a transaction would fail at once.
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            "factory": PrivateFile,
        }
        # Opening the file for each request took two thirds of its time. The connection is not kept
        # for long, because another file may be put in the file's place.
        config["CONN_MAX_AGE"] = 5
    else:
        # These detect within half a minute that a server has vanished.
        defaults = {"connect_timeout": 5, "keepalives_idle": 15, "tcp_user_timeout": 30_000}
        config["OPTIONS"] = defaults | options
        config |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    return config


def _parse_url(url: str) -> dict[str, Any]:
    """Parse DATABASE_URL. No error repeats a part of it, which may contain the password."""
    try:
        parts = urlsplit(url)
        known_options = URL_OPTIONS[ENGINES[parts.scheme]]
        config: dict[str, Any] = environ.Env.db_url_config(url)
    except (ImproperlyConfigured, KeyError, ValueError):
        config = {}
    if config.get("NAME") in {None, "", ":memory:"}:
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read. Set it to postgres://user:password@host/name or "
            "sqlite:////folder/file.sqlite3; Tacitus supports these two. Percent-encode special "
            "characters in the password, such as %40 for @."
        )
    if config["ENGINE"] == SQLITE and not Path(config["NAME"]).is_absolute():
        raise ImproperlyConfigured(
            "DATABASE_URL names a file relative to the folder that a command runs in, so two "
            "commands could use two databases. Use an absolute path, with four slashes: "
            "sqlite:////folder/file.sqlite3."
        )
    if dict(parse_qsl(parts.query, keep_blank_values=True)).keys() - known_options:
        raise ImproperlyConfigured(
            "DATABASE_URL has an unknown option. "
            f"Known are: {', '.join(sorted(known_options)) or 'none, for SQLite'}."
        )
    return config


FILE_MODE = 0o600
# Closing a file releases all locks that its process has on it (POSIX), also other threads' locks.
# So no thread connects to a new file before it is closed, and an existing file is not opened.
_creation_lock = Lock()


class PrivateFile(sqlite3.Connection):
    """Creates a missing database file, readable only by its user, before connecting."""

    def __init__(self, database: str | Path, *arguments: Any, **options: Any) -> None:
        if Path(database).is_absolute():  # neither in memory nor a URI
            _create_privately(database)
        super().__init__(database, *arguments, **options)


def _create_privately(file: str | Path) -> None:
    # SQLite reports any other error itself.
    with _creation_lock, suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
