"""Charts as SVG, each with its figures as a table.

The stylesheet has the colours and fonts. A chart is drawn for the narrowest phone, 320 pixels, and
scales up. All values are whole numbers of 0 or more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from explorer.pages.formatting import format_wei, intcomma, quantity
from queries.database.daily_counts import WITHIN
from queries.reading.chain_objects import Balance
from queries.reading.figures import Brought, Figures, Took, within_which

WIDTH, HEIGHT = 320, 200
TOP_MARGIN, RIGHT_MARGIN, BOTTOM_MARGIN = (30, 6, 24)  # for the unit and the labels
LETTER_WIDTH = 7  # roughly
LABEL_GAP = 10  # between two labels
MAX_BAR_WIDTH = 34
MAX_DOTS = 60  # more would hide the line

Formatter = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Bar:
    label: str  # in the table
    short: str  # below the axis
    value: int | None  # None: no data, other than 0


@dataclass(frozen=True, slots=True)
class Point:
    """The value from `x` to the next point."""

    x: int
    label: str
    value: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and a table of the same figures, both in `parts/figure.html`."""

    name: str  # unique on its page: prefix of ids
    title: str
    picture: SafeString
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def compact(value: int) -> str:
    """12,000 as 12k, for an axis."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return str(value)


@dataclass(frozen=True, slots=True)
class Measure:
    unit: str
    format_exact: Formatter = intcomma
    format_short: Formatter = compact


def bar_chart(name: str, title: str, bars: Sequence[Bar], measure: Measure) -> SafeString:
    """A bar per value; the value of the tallest is written above it."""
    values = [bar.value or 0 for bar in bars]
    tallest = values.index(max(values)) if any(values) else None
    plot = _Plot.from_values(values, measure)
    slot = (plot.right - plot.left) / max(len(bars), 1)
    centres = [plot.left + slot * (index + 0.5) for index in range(len(bars))]
    width = min(slot * 0.72, MAX_BAR_WIDTH)
    elements = _axis(plot, measure)
    for index, (bar, centre) in enumerate(zip(bars, centres, strict=True)):
        if bar.value:
            top = plot.height_of(bar.value)
            kind = "bar tallest" if index == tallest else "bar"
            elements.append(
                _svg(
                    '<rect class="{}" x="{}" y="{}" width="{}" height="{}">'
                    "<title>{}: {}</title></rect>",
                    *(kind, centre - width / 2, top, width, plot.bottom - top),
                    *(bar.label, measure.format_exact(bar.value)),
                )
            )
    if tallest is not None:
        words = measure.format_exact(values[tallest])
        # Keep clear of the axis and its ticks.
        x = max(centres[tallest], plot.left + len(words) * LETTER_WIDTH / 2)
        elements.append(_label_text(x, plot.height_of(values[tallest]) - 5, words, "value"))
    elements += _labels([(centre, bar.short) for bar, centre in zip(bars, centres, strict=True)])
    description = _describe([(bar.label, bar.value) for bar in bars], measure)
    return _picture(name, title, description, elements)


def step_chart(name: str, title: str, points: Sequence[Point], measure: Measure) -> SafeString:
    """A line that is level between points; `points` are sorted by `x`."""
    plot = _Plot.from_values([point.value for point in points], measure)
    first, last = (points[0].x, points[-1].x) if points else (0, 0)
    scale = (plot.right - plot.left) / max(last - first, 1)
    places = [
        (plot.left + (point.x - first) * scale, plot.height_of(point.value)) for point in points
    ]
    elements = _axis(plot, measure)
    if points:
        path = "".join(_path_commands(places, plot.right))
        elements.append(_svg('<path class="line" d="{}"/>', path))
    for point, place in zip(points, places, strict=True):
        if len(points) <= MAX_DOTS:
            dot = '<circle class="dot" cx="{}" cy="{}" r="3"><title>{}: {}</title></circle>'
            elements.append(_svg(dot, *place, point.label, measure.format_exact(point.value)))
    labels = {x: point.label for point, (x, _) in zip(points, places, strict=True)}
    elements += _labels([(x, labels[x]) for x in labels if x in (min(labels), max(labels))])
    description = _describe([(point.label, point.value) for point in points], measure)
    return _picture(name, title, description, elements)


def _svg(template: str, *values: str | float) -> SafeString:
    """Rounds numbers to a tenth; escapes texts."""
    return format_html(template, *(v if isinstance(v, str) else _tenths(v) for v in values))


@dataclass(frozen=True, slots=True)
class _Plot:
    """The rectangle inside the axes, and the scale of its height."""

    left: float
    step: int
    top_value: int
    right: float = WIDTH - RIGHT_MARGIN
    bottom: float = HEIGHT - BOTTOM_MARGIN

    @classmethod
    def from_values(cls, values: Sequence[int], measure: Measure) -> "_Plot":
        largest = max(values, default=0)
        step = _tick_step(largest)
        top = max(-(-largest // step), 1) * step
        max_length = max(len(measure.format_short(value)) for value in range(0, top + 1, step))
        return cls(max_length * LETTER_WIDTH + 8, step, top)

    def height_of(self, value: int) -> float:
        return self.bottom - (self.bottom - TOP_MARGIN) * value / self.top_value


def _tick_step(largest: int) -> int:
    """1, 2 or 5 times a power of ten, so that at most four ticks reach the largest value."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * 4 >= largest:
                return factor * power
        power *= 10


def _axis(plot: _Plot, measure: Measure) -> list[SafeString]:
    form = '<path class="grid" d="M{} {}H{}"/><text class="tick" x="{}" y="{}">{}</text>'
    ticks = []
    for value in range(0, plot.top_value + 1, plot.step):
        line = (plot.left, plot.height_of(value), plot.right)
        tick = (plot.left - 6, plot.height_of(value) + 4, measure.format_short(value))
        ticks.append(_svg(form, *line, *tick))
    return [*ticks, _svg('<text class="unit" x="0" y="12">{}</text>', measure.unit)]


def _labels(labels: Sequence[tuple[float, str]]) -> list[SafeString]:
    """As many as fit at even distances, always with the last one."""
    clamped = [(_clamp_centre(x, label), label) for x, label in reversed(labels)]
    steps = range(1, len(clamped) + 1)
    fitting = next((clamped[::step] for step in steps if _labels_fit(clamped[::step])), [])
    return [_label_text(x, HEIGHT - 6, label, "label") for x, label in fitting]


def _labels_fit(labels: Sequence[tuple[float, str]]) -> bool:
    return all(
        x2 - x1 >= (len(text2) + len(text1)) * LETTER_WIDTH / 2 + LABEL_GAP
        for (x2, text2), (x1, text1) in pairwise(labels)
    )


def _clamp_centre(x: float, label: str) -> float:
    """The centre nearest to `x` at which the text is not cut off."""
    half = len(label) * LETTER_WIDTH / 2
    return min(max(x, half), WIDTH - half)


def _label_text(x: float, y: float, words: str, kind: str) -> SafeString:
    form = '<text class="{}" x="{}" y="{}">{}</text>'
    return _svg(form, kind, _clamp_centre(x, words), y, words)


def _path_commands(places: Sequence[tuple[float, float]], end: float) -> Iterator[str]:
    """Skip points that do not change the height."""
    height = ""
    for index, (x, y) in enumerate(places):
        if index == 0:
            yield f"M{_tenths(x)} {_tenths(y)}"
        elif _tenths(y) != height:
            yield f"H{_tenths(x)}V{_tenths(y)}"
        height = _tenths(y)
    if places:  # a single point gets a line to the right end
        yield f"H{_tenths(places[-1][0] if len(places) > 1 else end)}"


def _describe(values: Sequence[tuple[str, int | None]], measure: Measure) -> str:
    points = [(label, value) for label, value in values if value is not None]
    if not points:
        return f"{measure.unit}. No data yet."
    smallest, largest = (pick(points, key=lambda pair: pair[1]) for pick in (min, max))
    return (
        f"{measure.unit}, from {values[0][0]} to {values[-1][0]}. "
        f"Lowest: {measure.format_exact(smallest[1])}, {smallest[0]}. "
        f"Highest: {measure.format_exact(largest[1])}, {largest[0]}."
    )


def _picture(name: str, title: str, description: str, elements: Sequence[SafeString]) -> SafeString:
    return format_html(
        '<svg class="chart" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="{name}-title {name}-description">'
        '<title id="{name}-title">{title}</title>'
        '<desc id="{name}-description">{description}</desc>{elements}</svg>',
        width=WIDTH,
        height=HEIGHT,
        name=name,
        title=title,
        description=description,
        elements=format_html_join("", "{}", ((element,) for element in elements)),
    )


def _tenths(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


MAX_TICK_LENGTH = 14
BALANCE_NOTE = "Each dot is proven; the balance between two dots is not."


def balance_chart(balances: Sequence[Balance]) -> Chart | None:
    """None for fewer than two blocks."""
    if len({balance.block for balance in balances}) <= 1:
        return None
    title, measure = _balance_title(balances), Measure("Balance", format_wei, _format_balance_short)
    points = [
        Point(balance.block, f"block {intcomma(balance.block)}", balance.wei)
        for balance in balances
    ]
    return Chart(
        "balance",
        title,
        step_chart("balance", title, points, measure),
        ("Block", "Balance", "in wei"),
        tuple(
            (intcomma(balance.block), format_wei(balance.wei), intcomma(balance.wei))
            for balance in balances[::-1]
        ),
        BALANCE_NOTE,
    )


def _format_balance_short(amount: int) -> str:
    """A long amount is rounded."""
    text = format_wei(amount)
    return text if len(text) <= MAX_TICK_LENGTH else f"{amount / 10**18:.1e} ETH"


def _balance_title(balances: Sequence[Balance]) -> str:
    first, last = balances[0], balances[-1]
    blocks = f"from block {intcomma(first.block)} to block {intcomma(last.block)}"
    if len({balance.wei for balance in balances}) == 1:
        proven = f"all {intcomma(len(balances))} blocks proven"
        return f"The balance was {format_wei(first.wei)} in {proven} {blocks}"
    change = last.wei - first.wei
    if not change:
        smallest, largest = (pick(balance.wei for balance in balances) for pick in (min, max))
        return (
            f"The balance moved between {format_wei(smallest)} and {format_wei(largest)} {blocks}"
        )
    verb = "rose" if change > 0 else "fell"
    return f"The balance {verb} by {format_wei(abs(change))} {blocks}, to {format_wei(last.wei)}"


NO_BOUND = "longer"


Days = Mapping[date, Brought]


def figure_charts(figures: Figures) -> tuple[Chart, ...]:
    return (
        _facts_chart(figures.days),
        _batches_chart(figures.days),
        _durations_chart(figures.took),
        _gas_chart(figures.days),
    )


def bound_text(seconds: int | None) -> str:
    """15 s, 2 min or 4 h."""
    if seconds is None:
        return NO_BOUND
    for length, unit in ((3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _facts_chart(days: Days) -> Chart:
    bars = [_day_bar(day, brought.facts) for day, brought in days.items()]
    title = _totals_title("facts", bars, "fact")
    picture = bar_chart("facts", title, bars, Measure("facts a day"))
    return Chart("facts", title, picture, ("day", "facts"), _rows(bars))


def _rows(bars: Sequence[Bar]) -> tuple[tuple[str, str], ...]:
    return tuple((bar.label, intcomma(bar.value or 0)) for bar in bars)


def _batches_chart(days: Days) -> Chart:
    bars = [_day_bar(day, brought.done) for day, brought in days.items()]
    title = _totals_title("batches DONE", bars, "batch DONE")
    if rejected := sum(brought.rejected for brought in days.values()):
        title += f"; {quantity(rejected, 'was,were')} REJECTED"
    picture = bar_chart("batches", title, bars, Measure("batches DONE a day"))
    rows = tuple(
        (_full_date(day), intcomma(brought.done), intcomma(brought.rejected))
        for day, brought in days.items()
    )
    return Chart("batches", title, picture, ("day", "DONE", "REJECTED"), rows)


def _durations_chart(took: Took) -> Chart:
    bars = [Bar(_within(bound), bound_text(bound), batches) for bound, batches in took.items()]
    title = _durations_title(took)
    measure = Measure("batches, by the time from submission to DONE")
    return Chart(
        "took",
        title,
        bar_chart("took", title, bars, measure),
        ("from submission to DONE", "batches"),
        _rows(bars),
        "Each batch is in one bar: the shortest time within which it was DONE. The time includes "
        "waiting for a block to be final.",
    )


def _durations_title(took: Took) -> str:
    """The times within which half and nine tenths of the batches were DONE."""
    count = sum(took.values())
    half, nine_tenths, slowest = (within_which(took, share) for share in (0.5, 0.9, 1))
    longer = f"more than {bound_text(WITHIN[-1])}"
    if not count:
        return "No batch was DONE in these days"
    if half is None:
        return f"Most batches took {longer} to be DONE" if count > 1 else f"The batch took {longer}"
    if nine_tenths is None:
        return f"Half of the batches were DONE {_within(half)}, the slowest tenth took {longer}"
    if half == slowest:
        return f"{'All batches were' if count > 1 else 'The batch was'} DONE {_within(half)}"
    if half == nine_tenths:
        return f"Nine of ten batches were DONE {_within(nine_tenths)}"
    return f"Half of the batches were DONE {_within(half)}, nine of ten {_within(nine_tenths)}"


def _gas_chart(days: Days) -> Chart:
    bars = [_day_bar(day, brought.gas_of_a_fact) for day, brought in days.items()]
    gas = sum(brought.gas for brought in days.values())
    facts = sum(brought.facts for brought in days.values())
    title = "No facts yet"
    if facts:
        title = f"{intcomma(round(gas / facts))} gas per fact on average"
    rows = tuple(
        (bar.label, "none" if bar.value is None else intcomma(bar.value), intcomma(brought.gas))
        for bar, brought in zip(bars, days.values(), strict=True)
    )
    return Chart(
        "gas",
        title,
        bar_chart("gas", title, bars, Measure("gas per fact, by day")),
        ("day", "gas per fact", "total gas"),
        rows,
        "Gas of all confirmed transactions, including failed ones and headers, divided by the "
        "facts read back. Facts that were already in the registry took no gas.",
    )


def _totals_title(plural: str, bars: Sequence[Bar], singular: str) -> str:
    """12,345 facts in 30 days, most on 14 November."""
    values = [bar.value or 0 for bar in bars]
    whole = quantity(sum(values), f"{singular},{plural}")
    if not any(values):
        return f"No {singular} in the last {len(bars)} days"
    top = bars[values.index(max(values))]
    days = sum(1 for value in values if value)
    day = top.label.rpartition(" ")[0]
    return f"{whole}, all on {day}" if days == 1 else f"{whole} in {len(bars)} days, most on {day}"


def _day_bar(day: date, value: int | None) -> Bar:
    return Bar(_full_date(day), f"{day.day} {day:%b}", value)


def _full_date(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _within(bound: int | None) -> str:
    return NO_BOUND if bound is None else f"within {bound_text(bound)}"
