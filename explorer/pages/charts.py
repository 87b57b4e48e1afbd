"""The bar charts of pages, each with a table of its figures; `parts/chart.html` draws them.

Positions are percentages of the width, because a chart is as wide as its place, and pixels of the
height. All values are whole numbers of 0 or more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil

from explorer.pages.formatting import intcomma, quantity
from queries.config.measured_costs import MEASURED_ACCOUNTS, account_cost
from queries.config.registries import RegistryKind
from queries.reading.figures import PeriodTotals

HEIGHT = 190
TOP, BOTTOM = 40, HEIGHT - 22  # of what is drawn; texts stand above and below
LABEL_Y, LABEL_GAP = HEIGHT - 6, 5
EDGE = 15  # percent: texts nearer to an end are kept inside
MAX_LABELLED_BARS = 5  # more have a value above the tallest only
MAX_LABELS = 4
MAX_BAR_WIDTH = 12  # percent


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
class Text:
    text: str
    x: float
    y: float

    @property
    def anchor(self) -> str:
        return "start" if self.x < EDGE else "end" if self.x > 100 - EDGE else "middle"


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
    values: tuple[Text, ...]  # above bars
    height = HEIGHT


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
    slot = 100 / len(bars)
    width = min(slot * 0.72, MAX_BAR_WIDTH)
    shapes, labels, value_texts = [], [], []
    for index, (label, short, value) in enumerate(bars):
        centre, y = slot * (index + 0.5), _height(value or 0, top)
        if value:
            text = f"{label}: {intcomma(value)}"
            size = (width, BOTTOM - y)
            shapes.append(Bar(text, centre - width / 2, y, *size, is_striking=index == highlight))
        if value and (are_labelled or index == highlight):
            value_texts.append(Text(intcomma(value), centre, y - LABEL_GAP))
        if are_labelled or (len(bars) - 1 - index) % ceil(len(bars) / MAX_LABELS) == 0:
            labels.append(Text(short, centre, LABEL_Y))
    grid = grid[:1] if are_labelled else grid
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
        [round(account_cost(kind, count).gas) for count in MEASURED_ACCOUNTS]
        for kind in (RegistryKind.NATIVE, RegistryKind.ATTESTED)
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
    most = max(days, key=lambda day: days[day])
    share = "all" if days[most] == total else "most"
    facts = quantity(total, "fact requested,facts requested")
    return _bar_chart(
        "requested",
        f"{facts} in {quantity(len(days), 'day')}, {share} on {most.day} {most:%B}",
        "facts requested a day (UTC)",
        [(_long(day), _short(day), count) for day, count in days.items()],
        (("Day", "Facts requested"), *((_long(day), intcomma(days[day])) for day in days)),
    )


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


def _height(value: int, top: int) -> float:
    return BOTTOM - (BOTTOM - TOP) * value / top


def _compact(value: int) -> str:
    """12,000 as 12k, for an axis."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return str(value)
