"""What must be on the disk before anything else happens, such as the bytes that are then sent."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def durably() -> Iterator[None]:
    """A transaction that even a power failure does not undo once it is committed.

    SQLite is set not to wait for the disk elsewhere; see explorer/settings/database.py.
    """
    with _synchronously(), transaction.atomic(durable=not connection.in_atomic_block):
        yield


@contextmanager
def _synchronously() -> Iterator[None]:
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=FULL")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous=NORMAL")
