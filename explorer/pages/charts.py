"""The charts of pages, each with a table of its figures; `parts/chart.html` draws them.

Positions are percentages of the width, because a chart is as wide as its place, and pixels of the
height. All values are whole numbers of 0 or more.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from math import ceil

from explorer.pages.formatting import intcomma, quantity
from queries.amounts import (
    GWEI_DIGITS,
    MAX_DECIMALS,
    UNIT_DIGITS,
    exact_amount,
    format_units,
    short_amount,
)
from queries.config.measured_costs import MEASURED_ACCOUNTS, account_cost
from queries.reading import ListLine, PeriodTotals
from queries.sources import AttestedRegistry, NativeRegistry

HEIGHT = 190
TOP, BOTTOM = 40, HEIGHT - 22  # of what is drawn; texts stand above and below
LABEL_Y, LABEL_GAP = HEIGHT - 6, 5
EDGE = 15  # percent: texts nearer to an end are kept inside
MAX_LABELLED_BARS = 5  # more have a value above the tallest only
MAX_LABELS = 4
MAX_BAR_WIDTH = 12  # percent
CHARACTER_WIDTH, LINE_HEIGHT = 2.6, 16  # percent of the narrowest chart, and pixels
MARGIN = 2  # percent: beside the dots of a line
MAX_TICK_WIDTH = 30  # percent
MAX_TICK_LENGTH = 16  # characters
SHORT_AMOUNT_UNIT = 10 ** (UNIT_DIGITS - MAX_DECIMALS)  # wei
MAX_STEPS = 3  # of an axis
SHARED_HEAD = 100  # an axis so many times its extent above 0 has ticks with the same head
MAX_DOTS = 60  # of a line; with more points, only the last has one
DOT_DISTANCE, TICK_OFFSET = 10, -4  # pixels from a dot or grid line to its text


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, which shows `text` on hover."""

    text: str
    x: float
    y: float
    width: float
    height: float
    is_striking: bool


@dataclass(frozen=True, slots=True)
class Dot:
    """A known point of a line, which shows `text` on hover."""

    text: str
    x: float
    y: float
    is_striking: bool


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    x: float
    y: float

    @property
    def anchor(self) -> str:
        return "start" if self.x < EDGE else "end" if self.x > 100 - EDGE else "middle"

    def overlaps(self, other: "Text") -> bool:
        """Whether the two may touch in the narrowest chart."""
        (left, right), (other_left, other_right) = self.extent, other.extent
        is_beside = right < other_left or other_right < left
        return not is_beside and abs(self.y - other.y) < LINE_HEIGHT

    @property
    def extent(self) -> tuple[float, float]:
        """Its left and right in the narrowest chart."""
        width = len(self.text) * CHARACTER_WIDTH
        left = self.x - {"start": 0, "middle": width / 2, "end": width}[self.anchor]
        return left, left + width


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and a table of the same figures, both in `parts/figure.html`."""

    name: str  # unique on its page: prefix of ids
    title: str
    unit: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    grid: tuple[Text, ...]
    bars: tuple[Bar, ...]
    labels: tuple[Text, ...]  # below the axis
    values: tuple[Text, ...]  # above bars and dots
    path: str = ""  # of a line
    left: float = 0  # percent: where the line begins
    dots: tuple[Dot, ...] = ()
    height = HEIGHT

    @property
    def plot_box(self) -> str:
        """The view box of the line alone, without ticks and labels."""
        height = BOTTOM - TOP + 2 * LABEL_GAP
        return f"{self.left:.2f} {TOP - LABEL_GAP} {100 - self.left:.2f} {height}"


Table = tuple[tuple[str, ...], ...]  # the first row has the heads
# The label in the table, the one below the axis, and the value; None: no data, other than 0.
Bars = Sequence[tuple[str, str, int | None]]


def _bar_chart(name: str, title: str, unit: str, bars: Bars, table: Table) -> Chart:
    """A bar per value. Of many bars only the tallest has its value above it."""
    values = [value or 0 for *_, value in bars]
    are_labelled = len(bars) <= MAX_LABELLED_BARS
    # What many bars say is the tallest; what few say is how they end.
    highlight = len(bars) - 1 if are_labelled else values.index(max(values))
    top, grid = _grid(max(values))
    grid = grid[:1] if are_labelled else grid
    left = _tick_width(grid)
    slot = (100 - left) / len(bars)
    width = min(slot * 0.72, MAX_BAR_WIDTH)
    shapes, labels, value_texts = [], [], []
    for index, (label, short, value) in enumerate(bars):
        centre, y = left + slot * (index + 0.5), _height(value or 0, top)
        if value:
            text = f"{label}: {intcomma(value)}"
            size = (width, BOTTOM - y)
            shapes.append(Bar(text, centre - width / 2, y, *size, is_striking=index == highlight))
        if value and (are_labelled or index == highlight):
            value_texts.append(Text(intcomma(value), centre, y - LABEL_GAP))
        if are_labelled or (len(bars) - 1 - index) % ceil(len(bars) / MAX_LABELS) == 0:
            labels.append(Text(short, centre, LABEL_Y))
    texts = tuple(labels), tuple(value_texts)
    return Chart(name, title, unit, table[0], table[1:], grid, tuple(shapes), *texts)


def route_gas_chart(name: str, days: Mapping[date, PeriodTotals]) -> Chart:
    """Gas a fact on one route, by day."""
    facts, gas = (sum(getattr(day, what) for day in days.values()) for what in ("facts", "gas"))
    price = f"{intcomma(round(gas / facts))} gas a fact" if facts else "No fact"
    rows = (
        (
            _long(day),
            "none" if totals.gas_per_fact is None else intcomma(totals.gas_per_fact),
            intcomma(totals.facts),
            intcomma(totals.gas),
        )
        for day, totals in days.items()
    )
    return _bar_chart(
        name,
        f"{price} in the last {len(days)} days",
        "gas a fact, by day (UTC)",
        [(_long(day), _short(day), totals.gas_per_fact) for day, totals in days.items()],
        (("Day", "Gas a fact", "Facts", "Gas"), *rows),
    )


def price_chart() -> Chart:
    """The measured gas of a balance, by the number of accounts that share their block."""
    native_gas, attested_gas = (
        [round(account_cost(kind.block_work, count).gas) for count in MEASURED_ACCOUNTS]
        for kind in (NativeRegistry, AttestedRegistry)
    )
    labels = [quantity(count, "account") for count in MEASURED_ACCOUNTS]
    rows = zip(labels, map(intcomma, native_gas), map(intcomma, attested_gas), strict=True)
    saving = 1 - native_gas[-1] / native_gas[0]
    return _bar_chart(
        "price",
        f"{MEASURED_ACCOUNTS[-1]} balances proven together cost {saving:.0%} less gas each",
        "gas a balance, by accounts of one block",
        list(zip(labels, labels, native_gas, strict=True)),
        (("Accounts of a block", "Native route", "Attested route"), *rows),
    )


def requested_facts_chart(days: Mapping[date, int]) -> Chart | None:
    """The facts that an account has requested; None if it has requested none in these days."""
    total = sum(days.values())
    if not total:
        return None
    facts = quantity(total, "fact requested,facts requested")
    return _bar_chart(
        "requested",
        f"{facts} in {quantity(len(days), 'day')}, {_peak(days)}",
        "facts requested a day (UTC)",
        [(_long(day), _short(day), count) for day, count in days.items()],
        (("Day", "Facts requested"), *((_long(day), intcomma(days[day])) for day in days)),
    )


def ended_batches_chart(days: Mapping[date, PeriodTotals]) -> Chart:
    """The batches that were DONE, by day; the table has the rejected ones too."""
    done = {day: totals.done_batches for day, totals in days.items()}
    rejected_count = sum(totals.rejected_batches for totals in days.values())
    title = f"{quantity(sum(done.values()), 'batch,batches')} DONE in {quantity(len(days), 'day')}"
    if any(done.values()):
        title += f", {_peak(done)}"
    if rejected_count:
        title += f"; {intcomma(rejected_count)} rejected"
    rows = (
        (_long(day), intcomma(totals.done_batches), intcomma(totals.rejected_batches))
        for day, totals in days.items()
    )
    return _bar_chart(
        "ended",
        title,
        "batches DONE a day (UTC)",
        [(_long(day), _short(day), count) for day, count in done.items()],
        (("Day", "DONE", "Rejected"), *rows),
    )


def balance_chart(balances: Sequence[ListLine], currency: str) -> Chart | None:
    """An account's balance at its proven blocks, newest first; None if all are equal."""
    points = [(line.block, int.from_bytes(line.word)) for line in reversed(balances)]
    return value_chart("balance", points, currency)


def value_chart(
    name: str, points: Sequence[tuple[int, int]], currency: str, gaps: Collection[int] = ()
) -> Chart | None:
    """A value by block, oldest first; None if all are equal. Without a currency it is a number.

    `name`: of the value, such as `slot 2`. `gaps`: blocks to which no line leads.
    """
    runs = [list(run) for _, run in groupby(points, lambda point: point[1])]
    if not runs[1:]:
        return None
    axis = _axis([amount for _, amount in points], name, currency)
    left = _tick_width(axis.grid) + MARGIN
    (first, old), (last, new), width = points[0], points[-1], 100 - MARGIN - left
    dots = {  # by block
        block: Dot(
            f"Block {block:,}: {_exact(amount, currency)}",
            left + width * (block - first) / (last - first),
            _height(amount - axis.bottom, axis.top - axis.bottom),
            is_striking=block >= runs[-1][0][0],
        )
        for block, amount in points
    }
    labelled_blocks = (last, first, *(run[0][0] for run in reversed(runs)))
    rows = (
        (
            _block_range(run[0][0], run[-1][0]),
            _exact(run[0][1], currency),
            quantity(len(run), "block"),
        )
        for run in runs
    )
    new_text, _ = _distinct_amounts(new, old, currency)
    value = Text(new_text, dots[last].x, dots[last].y - DOT_DISTANCE)
    tick_texts = [Text(line.text, line.x, line.y + TICK_OFFSET) for line in axis.grid]
    are_few = len(dots) <= MAX_DOTS
    return Chart(
        name=name.replace(" ", "-"),
        title=_finding(name, points, currency),
        unit=axis.label,
        heads=("Blocks", _capitalized(name), "Proven in"),
        rows=tuple(rows),
        grid=axis.grid,
        bars=(),
        labels=_fitting(Text(intcomma(n), dots[n].x, LABEL_Y) for n in labelled_blocks),
        values=(value,) if value in _fitting([*tick_texts, value]) else (),
        path=_path(dots, gaps),
        left=left - MARGIN,
        dots=tuple(dots.values()) if are_few else (dots[last],),
    )


def _finding(name: str, points: Sequence[tuple[int, int]], currency: str) -> str:
    """Such as `Balance rose by 503.99 ETH from block 420 to 690`."""
    (first, old), (last, new) = points[0], points[-1]
    if new == old:
        same = _distinct_amounts(new, old, currency)[0]
        return f"{_capitalized(name)} is {same} at block {last:,}, as at block {first:,}"
    change, verb = abs(new - old), "rose" if new > old else "fell"
    text = short_amount(change, currency) if currency else intcomma(change)
    return f"{_capitalized(name)} {verb} by {text} from block {first:,} to {last:,}"


def _capitalized(name: str) -> str:
    return name[:1].upper() + name[1:]


def _path(dots: Mapping[int, Dot], gaps: Collection[int]) -> str:
    """An SVG path through these points, in percent and pixels."""
    parts, is_new = list[str](), True
    for block, dot in dots.items():
        is_new |= block in gaps
        # A point alone is a line of no length, which has round ends.
        parts.append(f"{'M' if is_new else 'L'}{dot.x:.2f} {dot.y:.1f}{'h0' if is_new else ''}")
        is_new = False
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The vertical axis of values: its ends, its lines with their ticks, and the label above."""

    bottom: int
    top: int
    grid: tuple[Text, ...]
    label: str


def _axis(values: Sequence[int], name: str, currency: str) -> _Axis:
    """It begins at 0 only if the largest value is more than twice the smallest. If its ticks would
    begin with the same digits, they are differences from the bottom, which the label names.
    """
    smallest, largest = min(values), max(values)
    if smallest * 2 < largest:
        smallest = 0
    extent = largest - smallest
    power = 10 ** max(len(str(extent)) - 2, 0)
    step = next(n * power for n in (1, 2, 5, 10, 20, 50) if n * power * MAX_STEPS >= extent)
    bottom, top = smallest // step * step, -(-largest // step) * step
    digits, unit = 0, ""
    if currency:
        digits = next((n for n in (UNIT_DIGITS, GWEI_DIGITS) if step >= 10 ** (n - 3)), 0)
        unit = {UNIT_DIGITS: currency, GWEI_DIGITS: "gwei", 0: "wei"}[digits]
    base = bottom if (top - bottom) * SHARED_HEAD < bottom else 0
    grid = [
        Text(
            _tick(amount - base, digits, unit, sign="+" if base else ""),
            0,
            _height(amount - bottom, top - bottom),
        )
        for amount in range(bottom, top + 1, step)
    ]
    label = f"{unit or name}, by block number"
    if base:
        base_text = _tick(base, digits, unit)
        label = f"above {base_text}, by block" if base_text else f"{unit or name} above the lowest"
    return _Axis(bottom, top, tuple(grid), label)


def _fitting(texts: Iterable[Text]) -> tuple[Text, ...]:
    """The texts without those that leave the frame or overlap an earlier one."""
    fitting: list[Text] = []
    for text in texts:
        if text.extent[0] >= 0 and not any(text.overlaps(other) for other in fitting):
            fitting.append(text)
    return tuple(fitting)


def _tick(amount: int, digits: int, unit: str = "", sign: str = "") -> str:
    """The amount in a unit of so many digits, with the unit if there is room; empty if it is 0, or
    too long for an axis.
    """
    text = f"{sign}{format_units(amount, digits)}" if amount else ""
    if len(text) > MAX_TICK_LENGTH:
        round_digits = str(amount).rstrip("0")
        mantissa = f"{round_digits[0]}.{round_digits[1:]}".rstrip(".")
        text = f"{sign}{mantissa}e{len(str(amount)) - 1 - digits}"
    if len(text) > MAX_TICK_LENGTH:
        return ""
    with_unit = f"{text} {unit}".strip()
    return with_unit if text and len(with_unit) <= MAX_TICK_LENGTH else text


def _distinct_amounts(old: int, new: int, currency: str) -> tuple[str, str]:
    """With six decimals, or all if the two differ only in later ones."""
    if not currency or 0 < old // SHORT_AMOUNT_UNIT == new // SHORT_AMOUNT_UNIT:
        return _exact(old, currency), _exact(new, currency)
    return short_amount(old, currency), short_amount(new, currency)


def _exact(number: int, currency: str) -> str:
    return exact_amount(number, currency) if currency else intcomma(number)


def _block_range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _peak(days: Mapping[date, int]) -> str:
    """Such as `most on 3 November`."""
    peak = max(days, key=lambda day: days[day])
    share = "all" if days[peak] == sum(days.values()) else "most"
    return f"{share} on {peak.day} {peak:%B}"


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _grid(largest: int) -> tuple[int, tuple[Text, ...]]:
    """A round number at the top, and lines at 0, there, and halfway if that is a whole number."""
    power = 10 ** (len(str(largest)) - 1)
    top = max(ceil(largest / power), 1) * power
    values = [0, top // 2, top] if top % 2 == 0 else [0, top]
    return top, tuple(
        Text(_compact(value) if value else "", 0, _height(value, top)) for value in values
    )


def _tick_width(grid: Iterable[Text]) -> float:
    """The percentage beside which bars and lines begin."""
    return min(max(line.extent[1] for line in grid), MAX_TICK_WIDTH)


def _height(value: int, top: int) -> float:
    return BOTTOM - (BOTTOM - TOP) * value / top


def _compact(value: int) -> str:
    """12,000 as 12k, for an axis."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return str(value)
