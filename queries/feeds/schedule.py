"""When a feed is due: at the multiples of its interval, in blocks of its source or in Unix time."""

from datetime import UTC, datetime
from typing import Any

from queries.models import Feed
from queries.schema.checked_batch import Selector


def next_due(position: int, interval: int) -> int:
    """The first multiple of the interval after this position."""
    return last_due(position, interval) + interval


def last_due(position: int, interval: int) -> int:
    """The last multiple of the interval at or before this position."""
    return position - position % interval


def due_of(feed: Feed) -> int:
    """The block or Unix time of the next run."""
    return int(feed.due_at.timestamp()) if feed.due_at else int(feed.due_block or 0)


def due_columns(due: int, *, is_time: bool) -> dict[str, Any]:
    if is_time:
        return {"due_at": datetime.fromtimestamp(due, UTC), "due_block": None}
    return {"due_at": None, "due_block": due}


def due_selector(feed: Feed, due: int) -> Selector:
    return Selector(due, is_time=feed.due_at is not None)
