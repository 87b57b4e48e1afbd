"""Whether the database has this version's migrations."""

from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

NOT_MIGRATED = "The database is not migrated. Run: manage.py migrate"


def is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def require_migrations() -> None:
    """Stop a command before it does anything."""
    if not is_migrated():
        raise CommandError(NOT_MIGRATED)
