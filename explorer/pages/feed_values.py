"""The values of a feed: the newest one, their chart, and how near a watched value is to a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_DOWN, Decimal
from functools import cached_property

from django.utils import timezone

from explorer.pages.charts import Chart, value_chart
from explorer.pages.decoding import PLAUSIBLE_ADDRESSES, DecodedValue
from explorer.pages.fact_kinds import decode_fact
from explorer.pages.formatting import intcomma
from explorer.pages.links import PageLinks
from explorer.pages.sentences import field_name
from queries import reading
from queries.amounts import short_amount
from queries.feeds.watched_values import WatchedValue
from queries.reading import MAX_POINTS, FactView, FeedView
from queries.schema.feed_bodies import Change
from queries.statuses import FeedState

# The fields that a chart can show.
ACCOUNT_NUMBERS = {"BALANCE", "NONCE"}
HEADER_NUMBERS = {
    "BLOCK_NUMBER", "DIFFICULTY", "GAS_LIMIT", "GAS_USED", "BASE_FEE_PER_GAS", "BLOB_GAS_USED",
    "EXCESS_BLOB_GAS",
}  # fmt: skip
AMOUNTS = {"BALANCE", "BASE_FEE_PER_GAS"}  # of these, in wei
GAUGE_WIDTH = 1_000
MIN_PERCENT_DECIMALS = 2


def is_number(fact: FactView) -> bool:
    """Whether a proven value is a number: of a slot, whether it is not larger than most amounts."""
    if fact.name.startswith("0x"):
        return int(fact.word, 16) < PLAUSIBLE_ADDRESSES.start
    return fact.name in (ACCOUNT_NUMBERS if fact.account else HEADER_NUMBERS)


@dataclass(frozen=True)
class FeedValues:
    """The first value of each run, oldest first, with None for runs that have failed."""

    history: Sequence[FactView | None]
    is_thinned: bool  # to the newest one of each of many spans of time
    links: PageLinks

    @cached_property
    def values(self) -> Sequence[FactView]:
        return [value for value in self.history if value]

    @property
    def newest(self) -> FactView | None:
        return self.values[-1] if self.values else None

    @property
    def decoded(self) -> DecodedValue | None:
        """The newest value."""
        if self.newest is None:
            return None
        return decode_fact(self.newest, self.links.currency(self.newest.source))

    @property
    def change(self) -> str:
        """How the newest value differs from the one before: `10 ETH more than at block 1,200`."""
        numbers = self._numbers
        if len(numbers) < 2:  # noqa: PLR2004  (two values)
            return ""
        (block, old), (_, new) = list(numbers.items())[-2:]
        if old == new:
            return f"the same as at block {block:,}"
        difference = _amount(abs(new - old), self._currency)
        return f"{difference} {'more' if new > old else 'less'} than at block {block:,}"

    @cached_property
    def chart(self) -> Chart | None:
        """By block, with gaps at failed runs; None unless the values are numbers that differ."""
        numbers = self._numbers
        if not numbers or self.newest is None:
            return None
        gaps, is_after_failure = set[int](), False
        for value in self.history:
            if value and is_after_failure:
                gaps.add(value.block)
            is_after_failure = value is None
        name = field_name(self.newest.name)
        return value_chart(name, list(numbers.items()), self._currency, gaps)

    @property
    def chart_note(self) -> str:
        what = "Each dot is a run. The blocks between two dots are not proven."
        if self.is_thinned:
            what = f"The newest value of each of {MAX_POINTS} equal spans of time."
        return f"{what} Gaps are failed runs." if None in self.history else what

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """By block; empty if the values are not numbers, or if runs have different facts, as those
        of logs.
        """
        if len({value.identity for value in self.values}) != 1:
            return {}
        numbers = {value.block: int(value.word, 16) for value in self.values}
        return dict(sorted(numbers.items())) if all(map(is_number, self.values)) else {}

    @property
    def _currency(self) -> str:
        """Empty unless the values are amounts."""
        fact = self.newest
        return self.links.currency(fact.source) if fact and fact.name in AMOUNTS else ""


def feed_values(feed_id: str, links: PageLinks) -> FeedValues:
    return FeedValues(*reading.feed_history(feed_id), links)


@dataclass(frozen=True, slots=True)
class Gauge:
    """How much of what makes a run due has happened."""

    name: str
    text: str  # empty: `moment` says it
    width: int  # of `GAUGE_WIDTH`
    moment: datetime | None = None  # when the run comes in any case


def feed_gauges(feed: FeedView, links: PageLinks) -> Sequence[Gauge]:
    """Of an active feed that watches a value: how far it has moved, and its heartbeat."""
    trigger = feed.trigger
    if feed.state is not FeedState.ACTIVE or not isinstance(trigger, WatchedValue):
        return ()
    gauges = list[Gauge]()
    if feed.compared_value is not None and feed.read_value is not None:
        currency = _watched_currency(feed, trigger, links)
        gauges.append(
            _change_gauge(trigger.body.by, feed.compared_value, feed.read_value, currency)
        )
    if feed.heartbeat and trigger.body.heartbeat:
        length = trigger.body.heartbeat.count
        passed = length - (feed.heartbeat - timezone.now()).total_seconds()
        gauges.append(Gauge("heartbeat", "", _width(passed, length), feed.heartbeat))
    return gauges


def reading_text(feed: FeedView, links: PageLinks) -> str:
    """The watched value at its last reading, beside the one that it is compared with."""
    trigger = feed.trigger
    if not isinstance(trigger, WatchedValue) or feed.compared_value is None:
        return ""
    currency = _watched_currency(feed, trigger, links)
    before = _amount(feed.compared_value, currency)
    if feed.read_value is None:
        return f"It is compared with {before}."
    now = _amount(feed.read_value, currency)
    if feed.read_value == feed.compared_value:
        return f"Read last: {now}, as at the newest run."
    moved = _amount(abs(feed.read_value - feed.compared_value), currency)
    word = "more" if feed.read_value > feed.compared_value else "less"
    return f"Read last: {now}, {moved} {word} than the {before} that it is compared with."


def _watched_currency(feed: FeedView, trigger: WatchedValue, links: PageLinks) -> str:
    """Empty unless the value is an amount."""
    name = trigger.body.value.rpartition(".")[2]
    return links.currency(feed.source) if name in AMOUNTS else ""


def _amount(number: int, currency: str) -> str:
    return short_amount(number, currency) if currency else intcomma(number)


def _change_gauge(by: Change, before: int, now: int, currency: str) -> Gauge:
    """Such as `0.31 of 0.50 %`, or `0.2 of 1 ETH`."""
    moved = abs(now - before)
    if by.basis_points is None:
        amount, needed = (_amount(number, currency) for number in (moved, by.amount))
        if currency and needed.endswith(currency):
            amount = amount.removesuffix(f" {currency}")
        text = f"{amount} of {needed}"
        return Gauge("change", text, _width(moved, by.amount))
    percent = by.basis_points / 100
    places = Decimal(1).scaleb(-max(MIN_PERCENT_DECIMALS, -int(percent.as_tuple().exponent)))
    moved_percent = Decimal(moved) * 100 / before if before else Decimal(100 if moved else 0)
    text = f"{moved_percent.quantize(places, ROUND_DOWN):f} of {percent.quantize(places):f} %"
    return Gauge("change", text, _width(moved_percent, percent))


def _width(part: float | Decimal, whole: float | Decimal) -> int:
    return int(min(max(float(part) / float(whole), 0), 1) * GAUGE_WIDTH)
