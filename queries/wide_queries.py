"""A query with many slots is wide: five thousand are a megabyte of JSON, twice that once decoded.

Anyone may have many such queries in one list. So lists leave out the slots of wide ones, and who
wants all of them reads a few at a time.
"""

from collections.abc import Iterable, Iterator

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
