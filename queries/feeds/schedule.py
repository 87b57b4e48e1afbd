"""When a feed is due: at the multiples of its interval, in blocks of its source or in Unix time."""

from queries.models import Feed
from queries.schema.checked_batch import Selector
from queries.statuses import Trigger


def next_due(position: int, interval: int) -> int:
    """The first multiple of the interval after this position."""
    return last_due(position, interval) + interval


def last_due(position: int, interval: int) -> int:
    """The last multiple of the interval at or before this position."""
    return position - position % interval


def due_selector(feed: Feed, due: int) -> Selector:
    return Selector(due, is_time=feed.trigger == Trigger.SECONDS)
