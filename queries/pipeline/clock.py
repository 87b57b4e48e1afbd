"""What time it is for everyone: the database's, because the clocks of workers differ."""

from datetime import datetime

from django.db import connection
from django.utils import timezone


def shared_now() -> datetime:
    """Where the database is a file, all workers are on its machine and their clock is one."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT CLOCK_TIMESTAMP()")
        (now,) = cursor.fetchone()
    if not isinstance(now, datetime):
        raise TypeError("the database's time is no time")
    return now
