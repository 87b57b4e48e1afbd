"""Feeds that run `every` so often: they are due at the multiples of their interval, in blocks of
their source or in Unix time.
"""

from queries.feeds.trigger import Trigger, interval_frequency, refuse_short_interval
from queries.schema.feed_bodies import Interval, TriggerBody
from queries.schema.paths import WHOLE_BODY


class Blocks(Trigger):
    """`every` so many blocks of the source."""

    code, member, is_scheduled = "BLOCKS", "every", True
    body: Interval

    @classmethod
    def matches(cls, body: TriggerBody) -> bool:
        return super().matches(body) and body.every.is_time is cls.is_time

    @property
    def frequency(self) -> str:
        return interval_frequency(self.content)

    def seconds_between_runs(self, block_seconds: float | None) -> float | None:
        return self.interval * block_seconds if block_seconds else None

    @property
    def interval(self) -> int:
        return self.body.count

    def check_interval(self, source: int, block_seconds: float | None) -> None:
        path = WHOLE_BODY.child(self.member)
        refuse_short_interval(self.body, path, "feed may run", source, block_seconds)


class Seconds(Blocks):
    """`every` so many seconds of Unix time."""

    code, is_time = "SECONDS", True

    def seconds_between_runs(self, block_seconds: float | None) -> float | None:
        return self.interval
