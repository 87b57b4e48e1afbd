"""The database that DATABASE_URL names, as Django is told it."""

import sqlite3
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from explorer.database import database

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize("name", ["with space", "a#b", "a?b=c", "100%41", "ü"])
def test_the_default_lies_in_any_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    named = database("", tmp_path / name / "var" / "tacitus.sqlite3")
    sqlite3.connect(named["NAME"]).close()
    assert (tmp_path / name / "var" / "tacitus.sqlite3").exists()


def test_a_named_file_makes_no_folder(tmp_path: Path) -> None:
    named = database("sqlite:////folder/file.sqlite3", tmp_path / "var" / "tacitus.sqlite3")
    assert named["NAME"] == "/folder/file.sqlite3"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", ["file.sqlite3", "var/file.sqlite3", "../file.sqlite3"])
def test_a_file_that_depends_on_where_a_command_runs_is_refused(tmp_path: Path, file: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="with four slashes: sqlite:////folder/file"):
        database(f"sqlite:///{file}", tmp_path / "var" / "tacitus.sqlite3")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_postgresql_with_its_options(tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://user:pass%40word@db.example:5433/name?sslmode=require&connect_timeout=9"
    named = database(url, tmp_path)
    assert (named["HOST"], named["PORT"], named["NAME"]) == ("db.example", 5433, "name")
    assert (named["USER"], named["PASSWORD"]) == ("user", "pass@word")
    assert {"sslmode": "require", "connect_timeout": 9}.items() <= named["OPTIONS"].items()


@pytest.mark.parametrize("seconds", ["hunter2", "0", "-1", "1.5", "True", ""])
def test_a_time_to_connect_is_a_number(tmp_path: Path, seconds: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="connect_timeout is not") as refusal:
        database(f"postgres://h/n?connect_timeout={seconds}", tmp_path)
    assert "hunter2" not in str(refusal.value)


def test_a_password_that_cuts_the_address_short_is_told_how_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="percent-encoded, such as %40 for @"):
        database("postgres://u:hun/ter2@h/n", tmp_path)
