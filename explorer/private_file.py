"""An SQLite file that only its user reads: it holds what clients' webhooks are told to show.

SQLite itself makes it readable by all. The files beside it, `-wal` and `-shm`, take its mode. One
that is there already stays as its operator has it.
"""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

MODE = 0o600
# Whoever closes a file ends all locks that its process has on it (POSIX), another thread's too. So
# nobody here connects to a new file before it is closed, and one that is there is not opened.
_making = Lock()


class PrivateFile(sqlite3.Connection):
    """A connection, whose file is made so where there is none."""

    def __init__(self, database: str | Path, *arguments: Any, **named: Any) -> None:
        if Path(database).is_absolute():  # and neither in memory nor a URI
            _make(database)
        super().__init__(database, *arguments, **named)


def _make(file: str | Path) -> None:
    # What else is in the way SQLite says itself.
    with _making, suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, MODE))
