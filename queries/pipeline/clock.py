"""What time it is for everyone: one clock, because those of workers differ.

It is the database server's. SQLite has no server, and needs none for this: its write-ahead log is
memory that processes share, so all of them are on one machine, and of one kernel, whose clock all
its processes and containers read. Where an operator sets that clock, leases last so much longer or
shorter, once; and whoever is taken for dead meanwhile writes nothing, because its token is no
longer the row's.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

# Seconds for which an answer is gone on from, by the clock that only counts: each look asks for the
# time several times. A machine that slept meanwhile is so long behind, as one with a slow answer.
COUNTED_ON = 1.0


@dataclass
class _Server:
    """What it last told, and when: for all threads, so both are replaced at once."""

    told: tuple[float, datetime] | None = None


_server = _Server()


def shared_now() -> datetime:
    if connection.vendor != "postgresql":
        return timezone.now()
    told = _server.told
    counted = time.monotonic()
    if told is None or counted > told[0] + COUNTED_ON:
        now = _ask()
        _server.told = time.monotonic(), now
        return now
    return told[1] + timedelta(seconds=counted - told[0])


def _ask() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CLOCK_TIMESTAMP()")
        (now,) = cursor.fetchone()
    if not isinstance(now, datetime):
        raise TypeError("the database's time is no time")
    return now
