"""Keyset pagination: a page of rows, and the cursors of the neighbouring pages.

A page begins at a row, not at an offset: all pages cost the same, and new rows do not move a page.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)
View = TypeVar("View")
OtherView = TypeVar("OtherView")
MAX_BIGINT = 2**63 - 1  # the largest integer that databases store
_NUMBERS = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19}){0,2}")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row, by the columns that order the list, and the side of it on which the page lies."""

    key: tuple[int | str, ...]
    towards_newer: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[View]):
    """A page of rows, newest first; `older` and `newer` are the cursors of its neighbours."""

    rows: tuple[View, ...]
    older: str = ""
    newer: str = ""

    def with_rows(self, rows: Iterable[OtherView]) -> "Page[OtherView]":
        return Page(tuple(rows), self.older, self.newer)


def parse_cursor(text: str, count: int) -> tuple[int, ...] | None:
    """Parse a cursor of `count` numbers, such as 5186021.77; None if malformed."""
    if not _NUMBERS.fullmatch(text):
        return None
    numbers = tuple(map(int, text.split(".")))
    return numbers if len(numbers) == count and max(numbers) <= MAX_BIGINT else None


def read_page(
    rows: QuerySet[Row],
    columns: tuple[str, ...],
    cursor: Cursor | None,
    limit: int,
    group: Callable[[Row], object] = id,
) -> Page[Row]:
    """Read a page in one statement, by an index on the columns.

    Rows of a group that continues beyond the page are left to the next one, unless the page has no
    other rows.
    """
    backwards = cursor is not None and cursor.towards_newer
    if cursor is not None:
        rows = rows.filter(past_cursor(columns, cursor))
    order = [column if backwards else f"-{column}" for column in columns]
    page = list(rows.order_by(*order)[: limit + 1])
    has_more = len(page) > limit
    if has_more:
        groups = [group(row) for row in page]
        end = limit
        while end and groups[end - 1] == groups[limit]:
            end -= 1
        page = page[: end or limit]
    if backwards:
        page.reverse()
    if not page:
        return Page(())
    first, last = (
        ".".join(str(getattr(row, column)) for column in columns) for row in (page[0], page[-1])
    )
    return Page(
        tuple(page),
        older=last if has_more or backwards else "",
        newer=first if (has_more if backwards else cursor is not None) else "",
    )


def past_cursor(columns: tuple[str, ...], cursor: Cursor) -> Q:
    """Rows on the cursor's side, compared by the columns in their order.

    The first column's bound is repeated alone, because databases seek by it.
    """
    side = "gt" if cursor.towards_newer else "lt"
    *others, last = zip(columns, cursor.key, strict=True)
    condition = Q((f"{last[0]}__{side}", last[1]))
    for column, value in reversed(others):
        condition = Q((f"{column}__{side}", value)) | Q((column, value)) & condition
    return Q((f"{columns[0]}__{side}e", cursor.key[0])) & condition if others else condition


# A query with many slots is large: five thousand are a megabyte of JSON, twice that once decoded.
# So files read a few queries at a time.
ROWS_AT_ONCE = 500
SLOTS_AT_ONCE = 2_000  # or those of one query, if it has more


def key_chunks(sized_keys: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Split pairs of primary key and size into lists of keys whose rows fit in memory.

    A size counts the slots, and the events if there may be any.
    """
    keys, slots = list[int](), 0
    for key, count in sized_keys:
        if keys and (len(keys) == ROWS_AT_ONCE or slots + count > SLOTS_AT_ONCE):
            yield keys
            keys, slots = [], 0
        keys.append(key)
        slots += count
    if keys:
        yield keys
