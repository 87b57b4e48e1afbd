"""Django's `migrate`, without stopping a running service.

On PostgreSQL, ALTER TABLE waits until all transactions that read the table have ended, and
later queries queue behind it: a backup that runs for an hour would stop the service for an
hour. So each attempt waits only briefly for a lock. Without one, the migration is rolled back, the
others run, and it retries. An index that is built concurrently blocks no writers, so it is waited
for; if that is interrupted, the next run rebuilds it.
"""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections

# Below PostgreSQL's deadlock_timeout: where a migration and a worker wait for each other, it is the
# migration that gives way.
LOCK_MILLISECONDS = 500
FOR_EVER = "0"
PAUSE = 1.0  # seconds, for those that waited behind
TRIES = 100
LOCKED = {"55P03", "40P01"}  # PostgreSQL's lock_not_available and deadlock_detected


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if connection.vendor != "postgresql":
            super().handle(*args, **options)
            return
        for number in range(1, TRIES + 1):
            try:
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT SET_CONFIG('lock_timeout', %s, FALSE)", [str(LOCK_MILLISECONDS)]
                    )
                super().handle(*args, **options)
            except OperationalError as fault:
                if getattr(fault.__cause__, "sqlstate", "") not in LOCKED:
                    raise
                if number == 1:
                    self.stdout.write("A table is in use. Retrying until it is free …")
                time.sleep(PAUSE)
            else:
                return
            finally:
                if connection.connection is not None and not connection.in_atomic_block:
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT SET_CONFIG('lock_timeout', %s, FALSE)", [FOR_EVER])
        raise CommandError(
            "A table to migrate was in use at every attempt. End any long transaction, such as "
            "a backup, and run this again. No migration is half applied."
        )
