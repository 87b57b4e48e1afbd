"""Whether the database is there, and has the tables that this version works with."""

import time
from collections.abc import Callable

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, close_old_connections, connection
from django.db.migrations.executor import MigrationExecutor

NOT_MIGRATED = "The database is not migrated. Run: manage.py migrate"
PATIENCE, PAUSE = 30, 0.5  # seconds


def is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def refuse_unmigrated() -> None:
    """For commands, before they do anything."""
    if not is_migrated():
        raise CommandError(NOT_MIGRATED)


def await_database(say: Callable[[str], object]) -> None:
    """For what runs until it is ended: the server may be starting as well, or be restarted just
    now, and whoever is at work already outlives that. A file will not come by itself.
    """
    until, has_warned = time.monotonic() + PATIENCE, False
    while True:
        try:
            refuse_unmigrated()
        except (OperationalError, InterfaceError) as fault:
            if connection.vendor == "sqlite" or time.monotonic() > until:
                raise
            if not has_warned:
                why = " ".join(str(fault).split())
                say(f"The database cannot be used: {why}. Trying for {PATIENCE} seconds.")
            has_warned = True
            close_old_connections()
            time.sleep(PAUSE)
        else:
            return
