"""No model is without its migration, and the version before goes on with what a migration does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import migrations, models
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from accounts.indexes import AddIndexBesideWriters
from tests.commands import clean_environment

# Unless its name is given, makemigrations passes over an app without a migrations package.
CHECK = ["--check", "--dry-run"]


@pytest.mark.django_db
def test_no_migration_is_missing(repository: Path) -> None:
    """`--check` exits where a model and its migrations differ."""
    ours = [app.label for app in apps.get_app_configs() if Path(app.path).parent == repository]
    assert ours == ["explorer", "accounts", "queries"]
    call_command("makemigrations", *ours, *CHECK, verbosity=0)


LATE = """
from django.db import models

class Late(models.Model):
    name = models.TextField()
"""


@pytest.mark.no_database
def test_an_app_without_migrations_is_noticed(repository: Path, tmp_path: Path) -> None:
    app = tmp_path / "late"
    app.mkdir()
    (app / "__init__.py").touch()
    (app / "models.py").write_text(LATE)
    (tmp_path / "with_late.py").write_text(
        "from explorer.settings import *\nINSTALLED_APPS += ['late']\n"
    )
    ended = subprocess.run(
        [sys.executable, "manage.py", "makemigrations", "late", *CHECK],
        cwd=repository,
        env=clean_environment(
            tmp_path,
            DEVELOPMENT="1",
            DJANGO_SETTINGS_MODULE="with_late",
            PYTHONPATH=os.fspath(tmp_path),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "")
    assert "+ Create model Late" in ended.stdout


def _only_adds(operation: Operation) -> bool:
    """So that a version that does not know of it reads and writes as before."""
    if isinstance(operation, migrations.AddField):
        field = operation.field
        builds_an_index = field.unique or field.is_relation or getattr(field, "db_index", False)
        return (field.null or field.has_db_default()) and not builds_an_index
    return isinstance(operation, migrations.CreateModel | AddIndexBesideWriters)


def _is_atomic_as_it_should_be(migration: Migration) -> bool:
    """Beside an index that is built while others write, whatever else it adds would stay where it
    breaks off, and no second try would get by it.
    """
    of_indexes = [isinstance(each, AddIndexBesideWriters) for each in migration.operations]
    return not any(of_indexes) if migration.atomic else all(of_indexes)


@pytest.mark.no_database
def test_a_migration_after_the_first_only_adds() -> None:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    later = {
        key: each
        for key, each in loader.disk_migrations.items()
        if key[0] in {"accounts", "queries"} and key[1] != "0001_initial"
    }
    for key, migration in later.items():
        assert all(map(_only_adds, migration.operations)), key
        assert _is_atomic_as_it_should_be(migration), key


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("operation", "adds"),
    [
        (migrations.AddField("batch", "a", models.TextField(null=True)), True),
        (migrations.AddField("batch", "a", models.TextField(db_default="")), True),
        (migrations.AddField("batch", "a", models.TextField(default="")), False),
        (migrations.AddField("batch", "a", models.TextField(null=True, db_index=True)), False),
        (migrations.AddField("batch", "a", models.TextField(null=True, unique=True)), False),
        (
            migrations.AddField(
                "batch", "a", models.ForeignKey("Batch", models.CASCADE, null=True)
            ),
            False,
        ),
        (AddIndexBesideWriters("batch", models.Index(name="a", fields=["fee"])), True),
        (migrations.AddIndex("batch", models.Index(name="a", fields=["fee"])), False),
        (migrations.CreateModel("A", []), True),
        (migrations.RemoveField("batch", "fee"), False),
        (migrations.RenameField("batch", "fee", "offer"), False),
        (migrations.AlterField("batch", "fee", models.TextField()), False),
        (migrations.DeleteModel("Batch"), False),
        (migrations.RunSQL("DELETE FROM queries_batch"), False),
    ],
)
def test_what_only_adds_is_told_from_the_rest(operation: Operation, *, adds: bool) -> None:
    assert _only_adds(operation) is adds


FIELD = migrations.AddField("batch", "a", models.TextField(null=True))
INDEX = AddIndexBesideWriters("batch", models.Index(name="a", fields=["fee"]))


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("operations", "atomic", "should"),
    [
        ([FIELD], True, True),
        ([FIELD], False, False),
        ([INDEX], True, False),
        ([INDEX, INDEX], False, True),
        ([FIELD, INDEX], False, False),
    ],
)
def test_a_migration_is_done_whole_or_may_be_done_again(
    operations: list[Operation], *, atomic: bool, should: bool
) -> None:
    later = type("Later", (Migration,), {"operations": operations, "atomic": atomic})
    assert _is_atomic_as_it_should_be(later("0002_later", "queries")) is should
