"""What runs until it is ended begins although its database is restarted just then."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.db import OperationalError, connection

from accounts import database_state
from queries.chain.signer import Signer
from tests.commands import Manage, clean_environment
from tests.local_chain import HOLDER, SIGNER_KEY
from tests.own_database import own_database

SOURCE, DESTINATION = 1_337, 31_337
ROUTES = f"""
[chains.{SOURCE}]
name = "Source"
nodes = ["http://127.0.0.1:1"]

[chains.{DESTINATION}]
name = "Destination"
nodes = ["http://127.0.0.1:1"]

[[registries]]
kind = "attested"
source = {SOURCE}
destination = {DESTINATION}
address = "{HOLDER}"
signers = ["%s"]
threshold = 1
"""
WATCHES = ["attest", f"--source={SOURCE}", f"--destination={DESTINATION}", "--watch"]

TRYING = "Trying for 30 seconds."


@contextmanager
def cut_off(url: str) -> Iterator[None]:
    """Whoever is connected to the database is cut off at once, and whoever connects anew."""
    over = threading.Event()

    def cut() -> None:
        with psycopg.connect(url, autocommit=True) as held:
            while not over.is_set():
                held.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                time.sleep(0.002)

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        yield
    finally:
        over.set()
        cutting.join()


def await_words(log: Path, program: subprocess.Popen[bytes], *words: str) -> str:
    """Any of them."""
    until = time.monotonic() + 30
    while not (heard := [each for each in words if each in log.read_text()]):
        assert program.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)
    return heard[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "begun"), [(WATCHES, "Speaking as "), (["run_prover"], "Proving on 1 route as ")]
)
def test_it_begins_once_it_is_no_longer_cut_off(
    repository: Path, tmp_path: Path, manage: Manage, command: list[str], begun: str
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server that is restarted")
    routes, log = tmp_path / "routes.toml", tmp_path / "log"
    routes.write_text(ROUTES % Signer(SIGNER_KEY).address)
    with own_database(tmp_path, "cut_off") as url, log.open("a") as said, ExitStack() as running:
        keys = {"ATTESTER_KEY": SIGNER_KEY, "SIGNER_KEY": SIGNER_KEY}
        settings = {"DEVELOPMENT": "1", "DATABASE_URL": url, "ROUTES_FILE": str(routes), **keys}
        assert manage("migrate", **settings).returncode == 0

        def begin() -> subprocess.Popen[bytes]:
            program = subprocess.Popen(
                [sys.executable, "manage.py", *command],
                cwd=repository,
                env=clean_environment(tmp_path, **settings),
                stdout=said,
                stderr=said,
            )
            running.enter_context(program)  # which waits for its end
            running.callback(program.kill)
            return program

        with cut_off(url):
            program = begin()
            while await_words(log, program, TRYING, begun) != TRYING:
                # Between two cuts it had all that it needs.
                program.kill()
                program.wait()
                log.write_text("")
                program = begin()
        await_words(log, program, begun)
    assert log.read_text().count("The database cannot be used: ") == 1


@pytest.mark.no_database
@pytest.mark.parametrize(("vendor", "tries"), [("sqlite", 1), ("postgresql", 3)])
def test_a_server_is_waited_for_but_not_for_ever_and_a_file_not_at_all(
    monkeypatch: pytest.MonkeyPatch, vendor: str, tries: int
) -> None:
    asked: list[int] = []
    said: list[str] = []
    now = [0.0]

    def gone() -> bool:
        asked.append(1)
        raise OperationalError("server\n gone")

    clock = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds)
    )
    monkeypatch.setattr(database_state, "is_migrated", gone)
    monkeypatch.setattr(database_state, "time", clock)
    monkeypatch.setattr(database_state, "connection", SimpleNamespace(vendor=vendor))
    monkeypatch.setattr(database_state, "close_old_connections", lambda: None)
    monkeypatch.setattr(database_state, "PAUSE", 16)
    with pytest.raises(OperationalError):
        database_state.await_database(said.append)
    assert len(asked) == tries
    told = ["The database cannot be used: server gone. Trying for 30 seconds."]
    assert said == told[: tries - 1]
