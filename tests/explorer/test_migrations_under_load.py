"""The database is migrated while the version before serves and proves: it goes on."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.commands import Manage, clean_environment
from tests.installation import prepared, proving
from tests.own_database import own_database
from tests.served import served
from tests.visitors import visitors

MANY = {"REQUESTS_PER_MINUTE": "1000000", "LOG_LEVEL": "WARNING"}
# What a version after this one may do to the busiest tables.
LATER = """
from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("queries", "0001_initial")]
    operations = [
        migrations.AddField("batch", "note", models.TextField(null=True)),
        migrations.AddField("query", "weight", models.IntegerField(db_default=1)),
        migrations.CreateModel("Later", [("id", models.BigAutoField(primary_key=True))]),
    ]
"""
BLOCKS = 200  # to ask for
ROWS = 20_000
FILL = f"from tests.bench.past import fill; fill({ROWS})"
WAITS = "A table is in use."
SETTINGS = "from explorer.settings import *\nMIGRATION_MODULES = {'queries': 'later_migrations'}\n"


@pytest.fixture
def later(repository: Path, tmp_path: Path) -> dict[str, str]:
    """The variables of a version that has one migration more."""
    package = tmp_path / "later_migrations"
    package.mkdir()
    (package / "__init__.py").touch()
    first = repository / "queries" / "migrations" / "0001_initial.py"
    (package / first.name).write_text(first.read_text())
    (package / "0002_later.py").write_text(LATER)
    (tmp_path / "later.py").write_text(SETTINGS)
    return {"DJANGO_SETTINGS_MODULE": "later", "PYTHONPATH": os.fspath(tmp_path)}


@pytest.mark.django_db
def test_the_version_before_goes_on(
    repository: Path, tmp_path: Path, manage: Manage, later: dict[str, str]
) -> None:
    with (
        own_database(tmp_path, "migrated") as url,
        prepared(tmp_path, manage, BLOCKS + 9, DATABASE_URL=url, **MANY) as it,
        proving(repository, tmp_path, it.settings),
        served(repository, tmp_path, workers="2", **it.settings) as address,
    ):
        if connection.vendor == "postgresql":  # on SQLite whoever writes waits for all of it
            assert manage("shell", "--command", FILL, **it.settings).returncode == 0
        with visitors(address, it.key, it.node, BLOCKS) as them:
            time.sleep(1)
            before = len(them.accepted)
            told = tmp_path / "migrate"
            with told.open("w") as log, _long_read(url, told):
                migrated = subprocess.run(
                    [sys.executable, "-u", "manage.py", "migrate"],
                    cwd=repository,
                    env=clean_environment(tmp_path, **it.settings, **later),
                    stdout=log,
                    stderr=log,
                    timeout=180,
                    check=False,
                )
            assert migrated.returncode == 0, told.read_text()
            assert "Applying queries.0002_later... OK" in told.read_text()
            time.sleep(1)
        assert them.statuses() == {"DONE"}
    assert them.broken == []
    assert them.refused == them.cut == 0
    assert len(them.accepted) > before > 0
    if connection.vendor == "postgresql":
        assert WAITS in told.read_text()


@contextmanager
def _long_read(url: str, told: Path) -> Iterator[None]:
    """What a backup does: it reads a table in a transaction, here until the migration waits."""
    if connection.vendor == "sqlite":  # where who reads keeps nobody waiting
        yield
        return
    reads = threading.Event()

    def read() -> None:
        with psycopg.connect(url) as reader:
            reader.execute("SELECT COUNT(*) FROM queries_batch")
            reads.set()
            until = time.monotonic() + 60
            while WAITS not in told.read_text() and time.monotonic() < until:
                time.sleep(0.1)

    thread = threading.Thread(target=read)
    thread.start()
    assert reads.wait(20)
    yield
    thread.join(90)
