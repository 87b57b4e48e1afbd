"""Transactions that are on the disk before the program continues, for example before it sends."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def durable_transaction() -> Iterator[None]:
    """A transaction that survives a power failure once it is committed.

    Other transactions on SQLite do not wait for the disk; see explorer/settings/database.py.
    """
    with _full_sync(), transaction.atomic(durable=not connection.in_atomic_block):
        yield


@contextmanager
def _full_sync() -> Iterator[None]:
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
