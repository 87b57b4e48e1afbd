"""Whether the database can be used, and has this version's migrations."""

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

# The database is gone, locked or full. A traceback of our code would not help.
OUTAGE_ERRORS = (OperationalError, InterfaceError)
NOT_MIGRATED = "The database is not migrated. Run: manage.py migrate"


def describe_outage(error: BaseException) -> str:
    return f"The database cannot be used: {' '.join(str(error).split())}"


def is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def require_migrations() -> None:
    """Stop a command before it does anything."""
    if not is_migrated():
        raise CommandError(NOT_MIGRATED)
