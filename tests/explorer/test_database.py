"""The database that DATABASE_URL names, as Django is told it."""

import sqlite3
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_postgresql_with_its_options(tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://user:pass%40word@db.example:5433/name?sslmode=require&connect_timeout=9"
    named = database(url, tmp_path)
    assert (named["HOST"], named["PORT"], named["NAME"]) == ("db.example", 5433, "name")
    assert (named["USER"], named["PASSWORD"]) == ("user", "pass@word")
    assert named["OPTIONS"] == {"sslmode": "require", "connect_timeout": 9}
