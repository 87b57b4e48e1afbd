from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]


def test_no_migration_is_missing(repository: Path) -> None:
    own_apps = [app.label for app in apps.get_app_configs() if Path(app.path).parent == repository]
    # Named, because `--check` alone ignores an app without a migrations package.
    call_command("makemigrations", *own_apps, "--check", "--dry-run", verbosity=0)
