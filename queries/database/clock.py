"""The clock that all workers share."""

from datetime import datetime

from django.db import connection
from django.utils import timezone


def shared_now() -> datetime:
    """The database server's time. SQLite has no server, and its processes share a machine."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT CLOCK_TIMESTAMP()")
        now: datetime = cursor.fetchone()[0]
    return now
