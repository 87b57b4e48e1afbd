"""What triggers of feeds have in common. Each is a class, and a row of `triggers.TRIGGERS`."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from django.conf import settings

from accounts.wording import format_count
from queries.chain import ChainClient
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, scheduled_run
from queries.models import ChainRecord, Feed
from queries.schema.checked_batch import CheckedBatch
from queries.schema.feed_bodies import Interval, TriggerBody
from queries.schema.paths import JsonPath
from queries.selectors import DUE_BLOCK, DUE_TIME, Selector

_CACHED_FEEDS = 5_000  # they are read whenever a chain is


class Trigger(ABC):
    """What makes a feed due, as its request says."""

    code: ClassVar[str]  # in `Feed.trigger`, at most 7 letters
    member: ClassVar[str]  # of the request
    is_time: ClassVar[bool] = False  # it is due at Unix times, not at blocks
    is_scheduled: ClassVar[bool] = False  # at multiples of its interval, without reading the source
    # Whether a run needs only a block: then one can be made now, and the next one is foreseen.
    can_run_now: ClassVar[bool] = True
    compares_values: ClassVar[bool] = False  # with those that its runs have proven
    next_run_condition: ClassVar[str] = ""  # for pages

    def __init__(self, body: Any, content: Any) -> None:
        """The request's member: parsed, and as it was sent."""
        self.body, self.content = body, content

    @classmethod
    def stored(cls, request: str) -> Self:
        """The trigger of a stored request."""
        trigger: Self = _stored_trigger(cls, request)
        return trigger

    @classmethod
    def matches(cls, body: TriggerBody) -> bool:
        """Whether a request has this trigger."""
        return cls.member in body.model_fields_set

    @property
    @abstractmethod
    def frequency(self) -> str:
        """When it runs, for pages: such as `every 300 blocks`."""

    @property
    def placeholder_names(self) -> Mapping[str, str]:
        """What pages call the values of a log, by their placeholders."""
        return {}

    def seconds_between_runs(self, block_seconds: float | None) -> float | None:
        """None if it is not known."""
        return None

    @property
    def interval(self) -> int:
        """It is due at multiples of so many blocks, or seconds."""
        return 1

    def check_interval(self, source: int, block_seconds: float | None) -> None:
        """Refuse an interval that is too short. Raises `RefusalError`."""

    def check_batch(self, batch: CheckedBatch) -> None:
        """Refuse a batch that lacks what the trigger needs. Raises `RefusalError`."""

    @property
    def selectors(self) -> set[str]:
        """The keys that the batch's block may have, unless a contract names it."""
        return {DUE_TIME if self.is_time else DUE_BLOCK}

    def selector(self, due: int) -> Selector:
        return Selector(due, is_time=self.is_time)

    def sample_run(self, due: int) -> DueRun:
        """A run to check the batch with, before anything is due."""
        return scheduled_run(due, is_time=self.is_time)

    def first_due(self, record: ChainRecord) -> int:
        """Of a new feed."""
        return next_due(record.timestamp if self.is_time else record.number, self.interval)

    @classmethod
    def newest_due(cls, record: ChainRecord) -> int:
        """The newest block; or time, if it is known which block is the last one at that time."""
        return record.timestamp - 1 if cls.is_time else record.number

    def due_after_pause(self, feed: Feed, record: ChainRecord) -> int:
        """The due of a feed that makes up only for the latest run."""
        first = feed.runs.filter(submitted_at=None).order_by("id").first()
        return min(feed.due, first.due) if first else feed.due


class ChainTrigger(Trigger):
    """A trigger for which the source is read, at most once in `FEED_SECONDS`."""

    @classmethod
    @abstractmethod
    def insert_runs(cls, source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
        """Insert the runs of these feeds that are due. Raises `ChainError`."""


@lru_cache(_CACHED_FEEDS)
def _stored_trigger(kind: type[Trigger], request: str) -> Any:
    content = json.loads(request)[kind.member]
    body = TriggerBody.model_validate({kind.member: content})
    return kind(getattr(body, kind.member), content)


def next_due(position: int, interval: int) -> int:
    """The first multiple of the interval after this position."""
    return last_due(position, interval) + interval


def last_due(position: int, interval: int) -> int:
    """The last multiple of the interval at or before this position."""
    return position - position % interval


def interval_frequency(text: str) -> str:
    """Such as `every 4 hours` or `every hour`, of an interval as it was sent."""
    number, unit = text.split()
    unit = unit.removesuffix("s")
    return f"every {unit if int(number) == 1 else format_count(int(number), unit)}"


def refuse_short_interval(
    interval: Interval, path: JsonPath, action: str, source: int, block_seconds: float | None
) -> None:
    """Refuse an interval shorter than a block of the source, or than the operator's minimum."""
    shortest = settings.FEED_SECONDS
    reason = f"a {action} once in {format_count(shortest, 'second')} here"
    if interval.is_time:
        minimum, unit = max(shortest, math.ceil(block_seconds or 0)), "second"
    else:
        minimum, unit = math.ceil(shortest / block_seconds) if block_seconds else 1, "block"
    if block_seconds or not interval.is_time:
        seconds = f"{block_seconds or 0:.3g} seconds"
        reason += f", and a block of chain {source} takes {seconds}, as measured last"
    if interval.count < minimum:
        requested, accepted = (format_count(n, unit) for n in (interval.count, minimum))
        problem = f"is {requested}, but must be at least {accepted}: {reason}."
        raise path.refusal(FeedCode.FEED_MALFORMED, problem)
