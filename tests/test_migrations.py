"""No model is without its migration, in an app that has no migrations yet either."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command

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
