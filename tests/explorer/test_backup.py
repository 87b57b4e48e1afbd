"""The guide's commands for backups bring everything back, on the database under test."""

import html
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.test import Client

from tests.commands import Manage

OWNER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
KEYS = "from accounts.models import ApiKey; print(sorted(ApiKey.objects.values_list('id')))"


@pytest.fixture
def shown() -> dict[str, str]:
    """Each command of that part of the guide, by its program."""
    page = Client().get("/docs/operating").text.partition('id="backups"')[2]
    block = re.search(r"<pre.*?<code>(.*?)</code>", page, re.DOTALL)
    assert block
    return {line.split()[0]: line for line in html.unescape(block[1]).splitlines()}


@pytest.mark.django_db
def test_what_was_backed_up_is_brought_back(
    manage: Manage, tmp_path: Path, shown: dict[str, str]
) -> None:
    backed_up = _of_sqlite if connection.vendor == "sqlite" else _of_postgresql
    with backed_up(manage, tmp_path, shown) as (before, lost, after):
        assert before.count("(") == 1
        assert lost == "[]\n"
        assert after == before


Keys = tuple[str, str, str]


@contextmanager
def _of_sqlite(manage: Manage, folder: Path, shown: dict[str, str]) -> Iterator[Keys]:
    (folder / "var").mkdir()
    database = folder / "var" / "tacitus.sqlite3"
    url = f"sqlite:///{database}"
    before = _with_a_key(manage, url)
    _run(shown["python"], folder, url)
    assert manage("flush", "--no-input", DATABASE_URL=url, DEVELOPMENT="1").returncode == 0
    lost = _keys(manage, url)
    for each in database.parent.glob("tacitus.sqlite3*"):
        each.unlink()
    shutil.copy(folder / "backup.sqlite3", database)
    yield before, lost, _keys(manage, url)


@contextmanager
def _of_postgresql(manage: Manage, folder: Path, shown: dict[str, str]) -> Iterator[Keys]:
    known = connection.settings_dict
    name = f"{known['NAME']}_backup"
    server = {"user": known["USER"], "password": known["PASSWORD"], "host": known["HOST"]}
    given = {key: value for key, value in server.items() if value}
    port = known["PORT"] or 5432
    url = f"postgres://{known['USER']}:{known['PASSWORD']}@{known['HOST']}:{port}/{name}"
    with psycopg.connect(**given, port=port, dbname="postgres", autocommit=True) as beside:
        beside.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        beside.execute(f'CREATE DATABASE "{name}"')
        try:
            before = _with_a_key(manage, url)
            _run(shown["pg_dump"], folder, url)
            assert manage("flush", "--no-input", DATABASE_URL=url, DEVELOPMENT="1").returncode == 0
            lost = _keys(manage, url)
            _run(shown["pg_restore"], folder, url)
            yield before, lost, _keys(manage, url)
        finally:
            beside.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _with_a_key(manage: Manage, url: str) -> str:
    given = {"DATABASE_URL": url, "DEVELOPMENT": "1"}
    assert manage("migrate", "--verbosity", "0", **given).returncode == 0
    assert manage("create_api_key", "--owner", OWNER, **given).returncode == 0
    return _keys(manage, url)


def _keys(manage: Manage, url: str) -> str:
    return manage("shell", "--verbosity", "0", "-c", KEYS, DATABASE_URL=url, DEVELOPMENT="1").stdout


def _run(command: str, folder: Path, url: str) -> None:
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": url}
    subprocess.run(command, shell=True, cwd=folder, env=environment, check=True, timeout=60)  # noqa: S602
