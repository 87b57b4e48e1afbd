"""Which turns `make chaos` runs, for how long, and what it says of the others."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.__main__ import exit_code, shared
from tests.chaos.run import Turn
from tests.commands import clean_environment, free_port

pytestmark = pytest.mark.no_database

SERVER, BROKER = "postgres://there", "redis://there"
TURNS = [Turn("seed", 600, server, broker) for server in ("", SERVER) for broker in ("", BROKER)]


@pytest.mark.parametrize(
    ("there", "names"),
    [
        (
            {SERVER, BROKER},
            ["SQLite, embedded", "SQLite, Celery", "PostgreSQL, embedded", "PostgreSQL, Celery"],
        ),
        ({BROKER}, ["SQLite, embedded", "SQLite, Celery"]),
        (set(), ["SQLite, embedded"]),
    ],
)
def test_those_that_can_be_run_share_all_of_the_time(there: set[str], names: list[str]) -> None:
    present, absent = shared(TURNS, 600, there.__contains__)
    assert [each.name for each in present] == names
    assert sum(each.seconds for each in present) == 600
    assert len(present) + len(absent) == len(TURNS)
    assert all(address not in there for _, address in absent)


def test_where_none_was_named_all_are_to_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    _, absent = shared(TURNS, 600, {SERVER}.__contains__)
    assert exit_code(absent, all_right=True) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"NOT RUN: {name}, Celery, because nothing answers at there:6379"
        for name in ("SQLite", "PostgreSQL")
    ]
    assert [exit_code([], all_right=each) for each in (True, False)] == [0, 1]


def test_a_turn_that_was_asked_for_and_cannot_be_run_is_no_success(tmp_path: Path) -> None:
    absent = f"127.0.0.1:{free_port()}"
    ran = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--database=postgres", "--engine=embedded"],
        env=clean_environment(tmp_path, DATABASE_URL=f"postgres://nobody@{absent}/none"),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout == (f"NOT RUN: PostgreSQL, embedded, because nothing answers at {absent}\n")
