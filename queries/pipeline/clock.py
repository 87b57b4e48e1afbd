"""What time it is for everyone: one clock, because those of workers differ.

It is the database server's. SQLite has no server, and needs none for this: its write-ahead log is
memory that processes share, so all of them are on one machine, and of one kernel, whose clock all
its processes and containers read. Where an operator sets that clock, leases last so much longer or
shorter, once; and whoever is taken for dead meanwhile writes nothing, because its token is no
longer the row's.
"""

from datetime import datetime

from django.db import connection
from django.utils import timezone


def shared_now() -> datetime:
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT CLOCK_TIMESTAMP()")
        (now,) = cursor.fetchone()
    if not isinstance(now, datetime):
        raise TypeError("the database's time is no time")
    return now
