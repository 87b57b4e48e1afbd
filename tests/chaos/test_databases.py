"""What is done to a database from outside reaches all of it, and counts what it did."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.chaos import databases
from tests.chaos.databases import Postgres, Sqlite
from tests.chaos.programs import INSIDE
from tests.queries.pipeline.provers import database_url

WRITES = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("CREATE TABLE it (content)")
for line in sys.stdin:
    try:
        held.execute("INSERT INTO it VALUES (zeroblob(50000))")
        print("written", flush=True)
    except sqlite3.Error as error:
        print("refused", flush=True)
"""


@pytest.mark.no_database
def test_a_process_whose_files_no_longer_grow_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Sqlite(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", WRITES, str(database.file)],
        env={**INSIDE, **database.settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdin
        assert writer.stdout

        def ask() -> str:
            assert writer.stdin
            assert writer.stdout
            writer.stdin.write("\n")
            writer.stdin.flush()
            return writer.stdout.readline().strip()

        assert ask() == "written"
        found: list[int] = []
        filled = threading.Thread(
            target=lambda: found.append(database.fill_disk(lambda: [writer.pid], 1))
        )
        filled.start()
        told = [ask() for _ in range(200)]
        filled.join()
        assert "refused" in told
        assert found == [told.count("refused")]
        assert ask() == "written"
        writer.stdin.close()
    monkeypatch.setattr(databases, "UNFELT", 0)
    assert database.fill_disk(lambda: [writer.pid], 0.2) == 0
    with closing(sqlite3.connect(database.file)) as file:
        ((rows,),) = file.execute("SELECT count(*) FROM it")
    assert rows == told.count("written") + 2


@pytest.mark.no_database
def test_a_disk_stays_full_until_somebody_writes(tmp_path: Path) -> None:
    database = Sqlite(tmp_path)
    refused = tmp_path / "refused-writes" / "17"
    written = threading.Timer(1, lambda: refused.write_bytes(b"."))
    begin = time.monotonic()
    written.start()
    assert database.fill_disk(list, 0.1) == 1
    assert 1 <= time.monotonic() - begin < databases.UNFELT


@pytest.mark.no_database
def test_who_is_started_while_the_disk_is_full_has_room_afterwards(tmp_path: Path) -> None:
    """A limit is inherited: a server's new worker would have it for good."""
    known: list[int] = []
    starts = ["sh", "-c", "read it; sleep 60 & echo $!; wait"]
    with subprocess.Popen(starts, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdin
        assert shell.stdout
        known.append(shell.pid)
        filling = threading.Thread(target=lambda: Sqlite(tmp_path).fill_disk(lambda: known, 0.5))
        filling.start()
        while resource.prlimit(shell.pid, resource.RLIMIT_FSIZE)[0] != databases.FULL_AT:
            time.sleep(0.01)
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        child = int(shell.stdout.readline())
        assert resource.prlimit(child, resource.RLIMIT_FSIZE)[0] == databases.FULL_AT
        known.append(child)
        filling.join()
        for each in known:
            longest, most = resource.prlimit(each, resource.RLIMIT_FSIZE)
            assert longest == most
        os.kill(child, signal.SIGKILL)


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    if connection.vendor != "postgresql":
        pytest.skip("of PostgreSQL's own server")
    made = Postgres(database_url())
    made.make()
    try:
        yield made
    finally:
        made.drop()


@pytest.mark.django_db
def test_a_full_postgresql_refuses_the_writes_to_each_table(postgres: Postgres) -> None:
    writes = (
        "INSERT INTO queries_one VALUES (1)",
        "UPDATE accounts_other SET it = 1",
        "DELETE FROM accounts_other",
    )
    with postgres.connected() as held:
        held.execute("CREATE TABLE queries_one (it int); CREATE TABLE accounts_other (it int)")
        postgres.after_migrating()
        assert postgres.tables(held) == ["accounts_other", "queries_one"]
        found: list[int] = []
        filled = threading.Thread(target=lambda: found.append(postgres.fill_disk(list, 1)))
        filled.start()
        refused = set()
        while filled.is_alive():
            for each in writes:
                try:
                    held.execute(each.encode())
                except psycopg.errors.DiskFull:
                    refused.add(each)
        assert refused == set(writes)
        assert found[0] >= len(writes)
        for each in writes:
            held.execute(each.encode())


@pytest.mark.django_db
def test_a_cut_counts_the_backends_that_it_ends(postgres: Postgres) -> None:
    assert postgres.cut(0.1) == 0
    with psycopg.connect(postgres.url, autocommit=True) as held:
        held.execute("SELECT 1")
        assert postgres.cut(0.1) == 1
        with pytest.raises(psycopg.OperationalError):
            held.execute("SELECT 1")
