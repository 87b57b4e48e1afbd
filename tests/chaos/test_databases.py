"""What is done to a database from outside reaches all of it, and counts what it did."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.chaos.databases import Postgres, Sqlite
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
def test_a_process_whose_files_no_longer_grow_writes_nothing(tmp_path: Path) -> None:
    database = Sqlite(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", WRITES, str(database.file)],
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
        told = {ask() for _ in range(200)}
        filled.join()
        assert "refused" in told
        assert found == [1]
        assert ask() == "written"
        writer.stdin.close()
    assert database.fill_disk(lambda: [writer.pid], 0.2) == 0


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
