"""A database for one run, and what can be done to it from outside of the service."""

import re
import resource
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg import sql

OURS = "tacitus-chaos"  # what the service's connections are called at the server
TABLES = (
    "batch", "query", "blockjob", "senttransaction", "head", "routerecord", "attestation",
    "webhookdelivery", "webhookattempt", "webhookturn",
)  # fmt: skip

FULL_AT = 8_192  # bytes


class Database(Protocol):
    """Both kinds."""

    url: str
    kind: str

    def after_migrating(self) -> None: ...

    def cut(self, seconds: float) -> str:
        """No connection of the service serves it for so long; which way is told."""
        ...

    def fill_disk(self, processes: list[int], seconds: float) -> str:
        """Nothing that the service writes is taken for so long."""
        ...


class Sqlite:
    """A file. Its writers are locked out, and the system refuses longer files to them."""

    kind = "SQLite"

    def __init__(self, folder: Path) -> None:
        self.file = folder / "tacitus.sqlite3"
        self.url = f"sqlite:///{self.file}"

    def after_migrating(self) -> None:
        """Nothing is to be prepared."""

    def cut(self, seconds: float) -> str:
        with closing(sqlite3.connect(self.file, timeout=30, isolation_level=None)) as held:
            held.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            held.execute("ROLLBACK")
        return "locked"

    def fill_disk(self, processes: list[int], seconds: float) -> str:
        """By the limit on a file's length, which takes no privileges: each write beyond it fails,
        in the middle of what is written, as on a disk that is full. The logs are full as well.
        """
        before = {each: limit for each in processes if (limit := _longest_file(each))}
        for each, (_, greatest) in before.items():
            _longest_file(each, (FULL_AT, greatest))
        time.sleep(seconds)
        for each, limit in before.items():
            _longest_file(each, limit)
        return "files no longer grow"


class Postgres:
    """A database of its own, at the server of the one that is named, which may not be there."""

    kind = "PostgreSQL"

    def __init__(self, server: str) -> None:
        self._name = f"tacitus_chaos_{secrets.token_hex(4)}"
        self._server, self._address = (
            re.sub(r"(//[^/]*)/[^?]*", rf"\1/{name}", server) for name in ("postgres", self._name)
        )
        joint = "&" if "?" in self._address else "?"
        self.url = f"{self._address}{joint}application_name={OURS}"

    def make(self) -> None:
        self._tell_server(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))

    def drop(self) -> None:
        command = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self._tell_server(command.format(sql.Identifier(self._name)))

    def after_migrating(self) -> None:
        """Every write passes a place that can be told to refuse it."""
        with self.connected() as held:
            self._tell_disk(held, full=False)
            for table in TABLES:
                held.execute(
                    sql.SQL(
                        "CREATE TRIGGER disk BEFORE INSERT OR UPDATE ON {} "
                        "FOR EACH STATEMENT EXECUTE FUNCTION disk()"
                    ).format(sql.Identifier(f"queries_{table}"))
                )

    def cut(self, seconds: float) -> str:
        """Again and again: whoever connects anew is cut off as well."""
        until = time.monotonic() + seconds
        with self.connected() as held:
            while time.monotonic() < until:
                held.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND application_name = %s",
                    [OURS],
                )
                time.sleep(0.3)
        return "terminated"

    def fill_disk(self, processes: list[int], seconds: float) -> str:  # noqa: ARG002
        """The server's disk is nothing that we may fill. Each write gets the error that it gives
        when its disk is full, of the same class (53100), and its transaction is undone.
        """
        with self.connected() as held:
            self._tell_disk(held, full=True)
            try:
                time.sleep(seconds)
            finally:
                self._tell_disk(held, full=False)
        return "the server says that its disk is full"

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection]:
        with psycopg.connect(self._address, autocommit=True, connect_timeout=10) as held:
            yield held

    def _tell_disk(self, held: psycopg.Connection, *, full: bool) -> None:
        refusal = "RAISE 'No space left on device' USING ERRCODE = '53100';" if full else ""
        held.execute(
            "CREATE OR REPLACE FUNCTION disk() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {refusal} RETURN NULL; END $$".encode()
        )

    def _tell_server(self, command: sql.Composed) -> None:
        with psycopg.connect(self._server, autocommit=True, connect_timeout=10) as held:
            held.execute(command)


def _longest_file(process: int, limit: tuple[int, int] | None = None) -> tuple[int, int] | None:
    """What it was for this process; nothing where that has ended."""
    try:
        if limit is None:
            return resource.prlimit(process, resource.RLIMIT_FSIZE)
        return resource.prlimit(process, resource.RLIMIT_FSIZE, limit)
    except ProcessLookupError:
        return None


@contextmanager
def database(server: str, folder: Path) -> Iterator[Database]:
    """At this PostgreSQL, or where none is named a file in the folder. Gone afterwards, but for
    the file.
    """
    if not server:
        yield Sqlite(folder)
        return
    made = Postgres(server)
    made.make()
    try:
        yield made
    finally:
        with suppress(psycopg.Error):
            made.drop()
