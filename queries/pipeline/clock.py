"""The time for all workers: the database server's, because the clocks of machines differ.

SQLite has no server and needs none: all processes that share its write-ahead log run on one
machine. A worker that is wrongly taken for dead writes nothing, because its token has changed.
"""

import time
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

# Seconds for which an answer is counted on, because a pass asks for the time several times.
COUNTED_ON = 1.0

_answer: list[tuple[float, datetime]] = []  # the last one, and the monotonic clock then


def shared_now() -> datetime:
    if connection.vendor != "postgresql":
        return timezone.now()
    counted = time.monotonic()
    if not _answer or counted > _answer[0][0] + COUNTED_ON:
        now = _ask()
        _answer[:] = [(time.monotonic(), now)]
        return now
    asked, now = _answer[0]
    return now + timedelta(seconds=counted - asked)


def _ask() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CLOCK_TIMESTAMP()")
        (now,) = cursor.fetchone()
    if not isinstance(now, datetime):
        raise TypeError("the database's time is no time")
    return now
