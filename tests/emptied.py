"""Tables are emptied between tests on PostgreSQL without a new file for each.

TRUNCATE makes every table and every index anew, which takes half a second where most hold a few
rows or none; DELETE takes a hundredth of that. What is deleted stays in a table's pages, and plans
are made by these: so a table that has more than a few is truncated.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

if TYPE_CHECKING:  # at run time it needs settings, and a plugin is loaded before these are read
    from django.db.backends.base.operations import BaseDatabaseOperations

FEW = 8 * 8_192  # bytes, of eight pages


@contextmanager
def emptied_without_new_files() -> Iterator[None]:
    """Meanwhile, where the database under test is PostgreSQL; by every thread's connection."""
    with pytest.MonkeyPatch.context() as patch:
        if connection.vendor == "postgresql":
            patch.setattr(type(connection.ops), "sql_flush", sql_flush)
        yield


def sql_flush(
    ops: "BaseDatabaseOperations",
    _style: Any,
    tables: Sequence[str],
    *,
    reset_sequences: bool = False,
    allow_cascade: bool = False,  # noqa: ARG001  (each of ours is emptied anyway)
) -> list[str]:
    """As Django's own, which truncates all of them."""
    assert not reset_sequences
    quoted = {table: ops.quote_name(table) for table in tables}
    if not quoted:
        return []
    with ops.connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_relation_size(oid) FROM pg_class"
            " WHERE relkind = 'r' AND pg_table_is_visible(oid)"
        )
        sizes: dict[str, int] = dict(cursor.fetchall())
    large = [table for table in tables if sizes[table] > FEW]
    small = [table for table in tables if 0 < sizes[table] <= FEW]
    return [
        # As TRUNCATE does: who still writes ends first, and leaves nothing to the next test.
        f"LOCK TABLE {', '.join(quoted.values())} IN ACCESS EXCLUSIVE MODE",
        # First, because it refuses where what was deleted is still to be checked.
        *([f"TRUNCATE {', '.join(quoted[table] for table in large)} CASCADE"] if large else []),
        *(f"DELETE FROM {quoted[table]}" for table in small),  # noqa: S608  (tables' own names)
    ]
