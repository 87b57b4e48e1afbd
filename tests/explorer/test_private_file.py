"""Nobody but its user reads a database that is a file, whatever the shell allows to others."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE

import pytest

from explorer.database import PrivateFile
from tests.commands import Manage

pytestmark = pytest.mark.no_database
LOOK = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


@pytest.fixture(autouse=True)
def _shell_that_allows_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _modes(folder: Path) -> dict[str, int]:
    return {each.name: S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


def test_the_file_and_those_beside_it_are_for_its_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite3"
    with closing(sqlite3.connect(file, factory=PrivateFile)) as kept:
        kept.execute("PRAGMA journal_mode=WAL")
        kept.execute("CREATE TABLE of_it (number)")
        names = ("a.sqlite3", "a.sqlite3-shm", "a.sqlite3-wal")
        assert _modes(tmp_path) == dict.fromkeys(names, 0o600)


def test_a_command_makes_it_so(tmp_path: Path, manage: Manage) -> None:
    ended = manage("migrate", DEVELOPMENT="1", DATABASE_URL=f"sqlite:///{tmp_path}/a.sqlite3")
    assert ended.returncode == 0, ended.stderr
    assert _modes(tmp_path) == {"a.sqlite3": 0o600}


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (file := tmp_path / "a.sqlite3").touch(0o640)
    sqlite3.connect(file, factory=PrivateFile).close()
    assert _modes(tmp_path) == {"a.sqlite3": 0o640}


def test_what_another_connection_holds_stays_held(tmp_path: Path) -> None:
    """A process that opens and closes a file beside SQLite gives away its locks on it."""
    file = tmp_path / "a.sqlite3"
    with closing(sqlite3.connect(file, factory=PrivateFile, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with closing(sqlite3.connect(file, factory=PrivateFile)):
            look = [sys.executable, "-c", LOOK, str(file)]
            ended = subprocess.run(look, check=False, capture_output=True, timeout=60)
    assert b"database is locked" in ended.stderr


@pytest.mark.parametrize("name", [":memory:", "file:a?mode=memory&cache=shared"])
def test_what_is_no_file_makes_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sqlite3.connect(name, uri=True, factory=PrivateFile).close()
    assert _modes(tmp_path) == {}


def test_a_folder_that_is_missing_is_told_by_sqlite(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        sqlite3.connect(tmp_path / "none" / "a.sqlite3", factory=PrivateFile)
