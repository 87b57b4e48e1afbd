"""A database for one run, and what can be done to it from outside of the service."""

import re
import resource
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg import sql

from tests.chaos.inside.refused_writes import FOLDER, refusals

OURS = "tacitus-chaos"  # what the service's connections are called at the server
FULL_AT = 8_192  # bytes
UNFELT = 5.0  # seconds that a disk stays full at most until something is written


class Database(Protocol):
    """Both kinds."""

    url: str
    kind: str
    # How each is done, and what it says that came of it.
    cut_is: str
    cut_counts: str
    full_is: str
    full_counts: str

    @property
    def settings(self) -> Mapping[str, str]:
        """What the service's programs are told, so that it can be counted."""
        ...

    def after_migrating(self) -> None: ...

    def cut(self, seconds: float) -> int:
        """No connection of the service serves it for so long."""
        ...

    def fill_disk(self, processes: Callable[[], list[int]], seconds: float) -> int:
        """Nothing that the service writes is taken for so long."""
        ...


class Sqlite:
    """A file. Its writers are locked out, and the system refuses longer files to them."""

    kind = "SQLite"
    cut_is, cut_counts = "locked", "times that the lock was held"
    full_is, full_counts = "files no longer grow", "statements refused"

    def __init__(self, folder: Path) -> None:
        self._fills = threading.Lock()
        self._refused = folder / "refused-writes"
        self._refused.mkdir(exist_ok=True)
        self.settings: Mapping[str, str] = {FOLDER: str(self._refused)}
        self.file = folder / "tacitus.sqlite3"
        self.url = f"sqlite:///{self.file}"

    def after_migrating(self) -> None:
        """Nothing is to be prepared."""

    def cut(self, seconds: float) -> int:
        with closing(sqlite3.connect(self.file, timeout=30, isolation_level=None)) as held:
            held.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            held.execute("ROLLBACK")
        return 1

    def fill_disk(self, processes: Callable[[], list[int]], seconds: float) -> int:
        """By the limit on a file's length, which takes no privileges: each write beyond it fails,
        in the middle of what is written, as on a disk that is full. The logs are full as well.
        Those that are started meanwhile find it full.
        """
        full = set[int]()
        with self._fills:
            count = refusals(self._refused)

            def fill() -> int:
                for each in set(processes()) - full:
                    _limit_files(each, FULL_AT)
                    full.add(each)
                return refusals(self._refused) - count

            _until_felt(seconds, fill)
            for each in full:
                _limit_files(each)
            for each in set(processes()) - full:  # one of them may have begun these meanwhile
                _limit_files(each)
            return refusals(self._refused) - count


class Postgres:
    """A database of its own, at the server of the one that is named, which may not be there."""

    kind = "PostgreSQL"
    cut_is, cut_counts = "terminated", "backends ended"
    full_is, full_counts = "the server says that its disk is full", "statements refused"

    def __init__(self, server: str) -> None:
        self._fills = threading.Lock()
        self._name = f"tacitus_chaos_{secrets.token_hex(4)}"
        self._server, self._address = (
            re.sub(r"(//[^/]*)/[^?]*", rf"\1/{name}", server) for name in ("postgres", self._name)
        )
        self.settings: Mapping[str, str] = {}
        joint = "&" if "?" in self._address else "?"
        self.url = f"{self._address}{joint}application_name={OURS}"

    def make(self) -> None:
        self._tell_server(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))

    def drop(self) -> None:
        command = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self._tell_server(command.format(sql.Identifier(self._name)))

    def after_migrating(self) -> None:
        """Every write passes a place that can be told to refuse it, and counts what it refuses
        by what no transaction that is undone takes back.
        """
        with self.connected() as held:
            held.execute("CREATE SEQUENCE disk_refusals")
            self._tell_disk(held, full=False)
            for name in self.tables(held):
                held.execute(
                    sql.SQL(
                        "CREATE TRIGGER disk BEFORE INSERT OR UPDATE OR DELETE ON {} "
                        "FOR EACH STATEMENT EXECUTE FUNCTION disk()"
                    ).format(sql.Identifier(name))
                )

    def tables(self, held: psycopg.Connection) -> list[str]:
        """All that there are."""
        found = held.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        return sorted(str(name) for (name,) in found)

    def cut(self, seconds: float) -> int:
        """Again and again: whoever connects anew is cut off as well."""
        until, ended = time.monotonic() + seconds, 0
        with self.connected() as held:
            while time.monotonic() < until:
                told = held.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND application_name = %s",
                    [OURS],
                )
                ended += sum(bool(each) for (each,) in told)
                time.sleep(0.3)
        return ended

    def fill_disk(self, processes: Callable[[], list[int]], seconds: float) -> int:  # noqa: ARG002
        """The server's disk is nothing that we may fill. Each write gets the error that it gives
        when its disk is full, of the same class (53100), and its transaction is undone.
        """
        with self._fills, self.connected() as held:
            before = self._refused(held)
            self._tell_disk(held, full=True)
            try:
                _until_felt(seconds, lambda: self._refused(held) - before)
            finally:
                self._tell_disk(held, full=False)
            return self._refused(held) - before

    def _refused(self, held: psycopg.Connection) -> int:
        told = held.execute("SELECT last_value - (NOT is_called)::int FROM disk_refusals")
        ((count,),) = told
        return int(count)

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection]:
        with psycopg.connect(self._address, autocommit=True, connect_timeout=10) as held:
            yield held

    def _tell_disk(self, held: psycopg.Connection, *, full: bool) -> None:
        refusal = (
            "PERFORM nextval('disk_refusals'); "
            "RAISE 'No space left on device' USING ERRCODE = '53100';"
        )
        held.execute(
            "CREATE OR REPLACE FUNCTION disk() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {refusal if full else ''} RETURN NULL; END $$".encode()
        )

    def _tell_server(self, command: sql.Composed) -> None:
        with psycopg.connect(self._server, autocommit=True, connect_timeout=10) as held:
            held.execute(command)


def _limit_files(process: int, longest: int | None = None) -> None:
    """As long as the system lets them be, where no length is named. What was the limit before is
    not asked: whoever began while it was low has it so from its parent.
    """
    with suppress(ProcessLookupError):
        _, most = resource.prlimit(process, resource.RLIMIT_FSIZE)
        resource.prlimit(
            process, resource.RLIMIT_FSIZE, (most if longest is None else longest, most)
        )


def _until_felt(seconds: float, felt: Callable[[], int]) -> None:
    """For so long, and until somebody felt it, but not for ever."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds + UNFELT:
        if felt() and passed >= seconds:
            return
        time.sleep(0.1)


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
