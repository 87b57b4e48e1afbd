"""Statements that a full disk refuses are counted where they are refused: inside of each process,
because no system tells of another one's.

Each leaves a byte in a file of its process, which is short enough for any disk.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# What SQLite says where the system takes no more bytes, of its file, its log or the log's index.
OF_A_FULL_DISK = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"}
FOLDER = "REFUSED_WRITES"  # is in this variable of the process


@contextmanager
def counted() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as refused:
        if getattr(refused, "sqlite_errorname", "") in OF_A_FULL_DISK:
            with (Path(os.environ[FOLDER]) / str(os.getpid())).open("ab") as file:
                file.write(b".")
        raise


class Cursor(sqlite3.Cursor):
    def execute(self, *arguments: Any) -> Any:
        with counted():
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        with counted():
            return super().executemany(*arguments)


class Connection(sqlite3.Connection):
    def commit(self) -> None:
        with counted():
            super().commit()

    def cursor(self, factory: Any = Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, *arguments: Any) -> Any:
        return self.cursor().execute(*arguments)


def count_refusals() -> None:
    """From now on, of all connections that this process opens."""
    connect = sqlite3.connect

    def connect_counted(*arguments: Any, **named: Any) -> Any:
        return connect(*arguments, **{"factory": Connection, **named})

    made = {"Cursor": Cursor, "Connection": Connection, "connect": connect_counted}
    for module in (sqlite3, sqlite3.dbapi2):
        vars(module).update(made)


def refusals(folder: Path) -> int:
    """So far, of all processes."""
    return sum(each.stat().st_size for each in folder.iterdir())
