"""Django's `migrate`, without stopping a running service.

On PostgreSQL, ALTER TABLE waits for all transactions that read the table, such as a backup, and
later queries queue behind it. So an attempt waits only briefly for a lock; without one, the
migration is rolled back and retried after a pause. An index that is built concurrently blocks no
writers, so its migration waits without a limit; if it is interrupted, the next run rebuilds it.
"""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

# Below PostgreSQL's deadlock_timeout: in a deadlock with a worker, the migration gives up first.
LOCK_MILLISECONDS = 500
NO_LIMIT = 0
PAUSE = 1.0  # seconds, in which queued queries run
MAX_ATTEMPTS = 100
LOCK_ERRORS = {"55P03", "40P01"}  # PostgreSQL's lock_not_available and deadlock_detected


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if connection.vendor != "postgresql":
            super().handle(*args, **options)
            return
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                _set_lock_timeout(connection, LOCK_MILLISECONDS)
                super().handle(*args, **options)
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") not in LOCK_ERRORS:
                    raise
                if attempt == 1:
                    self.stdout.write("A table is in use. Retrying until it is free …")
                time.sleep(PAUSE)
            else:
                return
            finally:
                if connection.connection is not None and not connection.in_atomic_block:
                    _set_lock_timeout(connection, NO_LIMIT)
        raise CommandError(
            "A table to migrate was in use at every attempt. End any long transaction, such as "
            "a backup, and run this again. No migration is half applied."
        )


def _set_lock_timeout(connection: BaseDatabaseWrapper, milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT SET_CONFIG('lock_timeout', %s, FALSE)", [str(milliseconds)])
