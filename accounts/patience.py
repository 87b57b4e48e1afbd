"""A short wait for what is only counted or noted."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

SECONDS = 2


@contextmanager
def waiting_briefly() -> Iterator[None]:
    """While something holds SQLite's one lock, every request, which is counted, keeps a thread.

    With all of them waiting for 20 seconds the server would answer nobody, not even a probe. Who
    is not counted is told to come again.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    _wait(SECONDS)
    try:
        yield
    finally:
        _wait(connection.settings_dict["OPTIONS"].get("timeout", 5))


def _wait(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")
