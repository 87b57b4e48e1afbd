"""Keyset pagination: one page of many rows, and the cursors of the pages beside it.

A page begins at a row, not at an offset. So the last page of a million rows costs as much as the
first one, and new rows do not move a page.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)
View = TypeVar("View")
GREATEST = 2**63 - 1  # that a database keeps
_NUMBERS = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19})?")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row by the columns that order the list, and on which side of it the page lies."""

    key: tuple[int | str, ...]
    towards_newer: bool = False


@dataclass(frozen=True, slots=True)
class Slice(Generic[View]):
    """Some rows, newest first; `older` and `newer` are the cursors of the pages beside it."""

    rows: tuple[View, ...]
    older: str = ""
    newer: str = ""


def numbers_of(text: str, count: int) -> tuple[int, ...] | None:
    """A cursor of so many numbers, such as 5186021.77; None where it is none."""
    if not _NUMBERS.fullmatch(text):
        return None
    numbers = tuple(map(int, text.split(".")))
    return numbers if len(numbers) == count and max(numbers) <= GREATEST else None


def slice_of(
    rows: QuerySet[Row],
    columns: tuple[str, ...],
    cursor: Cursor | None,
    most: int,
    view: Callable[[Row], View],
) -> Slice[View]:
    """In one statement, by an index on the columns."""
    backwards = cursor is not None and cursor.towards_newer
    if cursor is not None:
        rows = rows.filter(_beside(columns, cursor))
    order = [column if backwards else f"-{column}" for column in columns]
    found = list(rows.order_by(*order)[: most + 1])
    more, found = len(found) > most, found[:most]
    if backwards:
        found.reverse()
    if not found:
        return Slice(())
    first, last = (_key(row, columns) for row in (found[0], found[-1]))
    return Slice(
        tuple(map(view, found)),
        older=last if more or backwards else "",
        newer=first if (more if backwards else cursor is not None) else "",
    )


def _beside(columns: tuple[str, ...], cursor: Cursor) -> Q:
    """Rows on that side: by the first column, and where it is equal by the next one.

    The first column's bound stands alone as well, because it is what a database seeks by.
    """
    side = "gt" if cursor.towards_newer else "lt"
    *before, last = zip(columns, cursor.key, strict=True)
    beside = Q((f"{last[0]}__{side}", last[1]))
    for column, value in reversed(before):
        beside = Q((f"{column}__{side}", value)) | Q((column, value)) & beside
    return Q((f"{columns[0]}__{side}e", cursor.key[0])) & beside if before else beside


def _key(row: Any, columns: tuple[str, ...]) -> str:
    return ".".join(str(getattr(row, column)) for column in columns)


# A query with many slots is wide: five thousand are a megabyte of JSON, twice that once decoded.
# Anyone may have many such queries in one list. So lists leave out the slots of wide ones, and
# whoever wants all of them reads a few at a time.
MOST_OF_NARROW = 20  # slots
ROWS_AT_ONCE = 500
SLOTS_AT_ONCE = 2_000  # or those of one query, if it has more


def in_portions(queries: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Keys, so many that their rows can be held in memory; they come with the count of slots."""
    keys, slots = list[int](), 0
    for key, count in queries:
        if keys and (len(keys) == ROWS_AT_ONCE or slots + count > SLOTS_AT_ONCE):
            yield keys
            keys, slots = [], 0
        keys.append(key)
        slots += count
    if keys:
        yield keys
