"""Charts as SVG: figures in, markup out, and the same figures as a table.

Colours and type come from the stylesheet by class. A chart is drawn for the narrowest telephone,
320 pixels, and grows from there. All values are whole numbers of 0 or more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from explorer.templatetags.tacitus import counted, grouped, wei
from queries.database.daily_counts import WITHIN
from queries.reading.chain_objects import Balance
from queries.reading.figures import Brought, Figures, Took, within_which

WIDTH, HEIGHT = 320, 200
TOP, RIGHT, BOTTOM = 30, 6, 24  # the unit stands above the plot, the labels below it
LETTER = 7  # about as wide as a digit
GAP = 10  # between two labels
WIDEST_BAR = 34
MOST_DOTS = 60  # of a line; more of them hide it

Shown = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Bar:
    """One value; None where there is none, which is not 0."""

    label: str  # whole, as in the table
    short: str  # as below the axis
    value: int | None


@dataclass(frozen=True, slots=True)
class Point:
    """From `at` on the value holds, until the next point."""

    at: int
    label: str
    value: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and the table that says the same; `parts/figure.html` shows both."""

    name: str  # unique on its page: ids begin with it
    title: str  # what the figures say
    picture: SafeString
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def compact(value: int) -> str:
    """12,000 as 12k: for an axis, where room is short."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return str(value)


@dataclass(frozen=True, slots=True)
class Measure:
    """What the values are, and how they are written."""

    unit: str
    shown: Shown = grouped
    on_axis: Shown = compact


def bar_chart(name: str, title: str, bars: Sequence[Bar], measure: Measure) -> SafeString:
    """A bar for each value; the tallest has its value beside it."""
    values = [bar.value or 0 for bar in bars]
    tallest = values.index(max(values)) if any(values) else None
    plot = _Plot.for_values(values, measure)
    slot = (plot.right - plot.left) / max(len(bars), 1)
    places = [plot.left + slot * (number + 0.5) for number in range(len(bars))]
    width = min(slot * 0.72, WIDEST_BAR)
    drawn = _axis(plot, measure)
    for number, (bar, place) in enumerate(zip(bars, places, strict=True)):
        if bar.value:
            top = plot.height_of(bar.value)
            kind = "bar most" if number == tallest else "bar"
            drawn.append(
                _drawn(
                    '<rect class="{}" x="{}" y="{}" width="{}" height="{}">'
                    "<title>{}: {}</title></rect>",
                    *(kind, place - width / 2, top, width, plot.bottom - top),
                    *(bar.label, measure.shown(bar.value)),
                )
            )
    if tallest is not None:
        words = measure.shown(values[tallest])
        # Right of the axis, whose own figures stand there.
        beside = max(places[tallest], plot.left + len(words) * LETTER / 2)
        drawn.append(_text(beside, plot.height_of(values[tallest]) - 5, words, "value"))
    drawn += _labels([(place, bar.short) for bar, place in zip(bars, places, strict=True)])
    said = _described([(bar.label, bar.value) for bar in bars], measure)
    return _picture(name, title, said, drawn)


def step_chart(name: str, title: str, points: Sequence[Point], measure: Measure) -> SafeString:
    """A line that keeps its height from one point, in the order of `at`, to the next."""
    plot = _Plot.for_values([point.value for point in points], measure)
    first, last = (points[0].at, points[-1].at) if points else (0, 0)
    length = (plot.right - plot.left) / max(last - first, 1)
    places = [
        (plot.left + (point.at - first) * length, plot.height_of(point.value)) for point in points
    ]
    drawn = _axis(plot, measure)
    if points:
        drawn.append(_drawn('<path class="line" d="{}"/>', "".join(_steps(places, plot.right))))
    for point, place in zip(points, places, strict=True):
        if len(points) <= MOST_DOTS:
            dot = '<circle class="dot" cx="{}" cy="{}" r="3"><title>{}: {}</title></circle>'
            drawn.append(_drawn(dot, *place, point.label, measure.shown(point.value)))
    ends = {place: point.label for point, (place, _) in zip(points, places, strict=True)}
    drawn += _labels([each for each in ends.items() if each[0] in (min(ends), max(ends))])
    said = _described([(point.label, point.value) for point in points], measure)
    return _picture(name, title, said, drawn)


def _drawn(form: str, *values: str | float) -> SafeString:
    """Numbers to a tenth; texts are escaped."""
    return format_html(form, *(each if isinstance(each, str) else _round(each) for each in values))


@dataclass(frozen=True, slots=True)
class _Plot:
    """The rectangle inside the axes, and what its height stands for."""

    left: float
    step: int
    top_value: int
    right: float = WIDTH - RIGHT
    bottom: float = HEIGHT - BOTTOM

    @classmethod
    def for_values(cls, values: Sequence[int], measure: Measure) -> "_Plot":
        most = max(values, default=0)
        step = _step(most)
        top = max(-(-most // step), 1) * step
        longest = max(len(measure.on_axis(value)) for value in range(0, top + 1, step))
        return cls(longest * LETTER + 8, step, top)

    def height_of(self, value: int) -> float:
        return self.bottom - (self.bottom - TOP) * value / self.top_value


def _step(most: int) -> int:
    """1, 2 or 5 and zeros, so that four lines or fewer reach above the greatest value."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power * 4 >= most:
                return factor * power
        power *= 10


def _axis(plot: _Plot, measure: Measure) -> list[SafeString]:
    form = '<path class="grid" d="M{} {}H{}"/><text class="tick" x="{}" y="{}">{}</text>'
    drawn = []
    for value in range(0, plot.top_value + 1, plot.step):
        line = (plot.left, plot.height_of(value), plot.right)
        tick = (plot.left - 6, plot.height_of(value) + 4, measure.on_axis(value))
        drawn.append(_drawn(form, *line, *tick))
    return [*drawn, _drawn('<text class="unit" x="0" y="12">{}</text>', measure.unit)]


def _labels(wanted: Sequence[tuple[float, str]]) -> list[SafeString]:
    """As many as fit at even distances, and the last one always."""
    inside = [(_inside(place, label), label) for place, label in reversed(wanted)]
    steps = range(1, len(inside) + 1)
    kept = next((inside[::step] for step in steps if _fit(inside[::step])), [])
    return [_text(place, HEIGHT - 6, label, "label") for place, label in kept]


def _fit(labels: Sequence[tuple[float, str]]) -> bool:
    return all(
        right - left >= (len(words) + len(others)) * LETTER / 2 + GAP
        for (right, words), (left, others) in pairwise(labels)
    )


def _inside(place: float, label: str) -> float:
    """Where a text is centred so that none of it is cut off."""
    half = len(label) * LETTER / 2
    return min(max(place, half), WIDTH - half)


def _text(place: float, height: float, words: str, kind: str) -> SafeString:
    form = '<text class="{}" x="{}" y="{}">{}</text>'
    return _drawn(form, kind, _inside(place, words), height, words)


def _steps(places: Sequence[tuple[float, float]], end: float) -> Iterator[str]:
    """Only where the height changes: a line of hundreds of points often hardly does."""
    height = ""
    for number, (x, y) in enumerate(places):
        if number == 0:
            yield f"M{_round(x)} {_round(y)}"
        elif _round(y) != height:
            yield f"H{_round(x)}V{_round(y)}"
        height = _round(y)
    if places:  # a single point is drawn as if it stayed
        yield f"H{_round(places[-1][0] if len(places) > 1 else end)}"


def _described(values: Sequence[tuple[str, int | None]], measure: Measure) -> str:
    known = [(label, value) for label, value in values if value is not None]
    if not known:
        return f"{measure.unit}. There is nothing to show yet."
    least, most = (choose(known, key=lambda each: each[1]) for choose in (min, max))
    return (
        f"{measure.unit}, from {values[0][0]} to {values[-1][0]}. "
        f"Least: {measure.shown(least[1])}, {least[0]}. Most: {measure.shown(most[1])}, {most[0]}."
    )


def _picture(name: str, title: str, said: str, parts: Sequence[SafeString]) -> SafeString:
    return format_html(
        '<svg class="chart" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="{name}-title {name}-said">'
        '<title id="{name}-title">{title}</title><desc id="{name}-said">{said}</desc>{parts}</svg>',
        width=WIDTH,
        height=HEIGHT,
        name=name,
        title=title,
        said=said,
        parts=format_html_join("", "{}", ((part,) for part in parts)),
    )


def _round(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


NAME = "balance"
LONGEST_LABEL = 14
BETWEEN = "Each dot is proven. What the balance was between two of them is not."


def balance_chart(balances: Sequence[Balance]) -> Chart | None:
    """None where there is nothing to compare."""
    if len({each.block for each in balances}) < 2:  # noqa: PLR2004
        return None
    title, measure = _finding(balances), Measure("Balance", wei, _on_axis)
    points = [Point(each.block, f"block {grouped(each.block)}", each.wei) for each in balances]
    return Chart(
        NAME,
        title,
        step_chart(NAME, title, points, measure),
        ("Block", "Balance", "in wei"),
        tuple((grouped(each.block), wei(each.wei), grouped(each.wei)) for each in balances[::-1]),
        BETWEEN,
    )


def _on_axis(amount: int) -> str:
    """A value too long to show is replaced by its size."""
    text = wei(amount)
    return text if len(text) <= LONGEST_LABEL else f"{amount / 10**18:.1e} ETH"


def _finding(balances: Sequence[Balance]) -> str:
    first, last = balances[0], balances[-1]
    blocks = f"from block {grouped(first.block)} to block {grouped(last.block)}"
    if len({each.wei for each in balances}) == 1:
        proven = f"all {grouped(len(balances))} blocks proven"
        return f"The balance was {wei(first.wei)} in {proven} {blocks}"
    change = last.wei - first.wei
    if not change:
        least, most = (pick(each.wei for each in balances) for pick in (min, max))
        return f"The balance moved between {wei(least)} and {wei(most)} {blocks}"
    verb = "rose" if change > 0 else "fell"
    return f"The balance {verb} by {wei(abs(change))} {blocks}, to {wei(last.wei)}"


LONGEST = "longer"


Days = Mapping[date, Brought]


def charts_of(figures: Figures) -> tuple[Chart, ...]:
    return (_facts(figures.days), _batches(figures.days), _took(figures.took), _gas(figures.days))


def in_time(seconds: int | None) -> str:
    """A bound as people say it: 15 s, 2 min, 4 h."""
    if seconds is None:
        return LONGEST
    for length, unit in ((3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _of_bars(  # noqa: PLR0913, PLR0917  (what a chart is made of)
    name: str,
    title: str,
    bars: Sequence[Bar],
    unit: str,
    heads: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    note: str = "",
) -> Chart:
    picture = bar_chart(name, title, bars, Measure(unit))
    return Chart(name, title, picture, heads, tuple(rows), note)


def _facts(days: Days) -> Chart:
    bars = [_bar(day, brought.facts) for day, brought in days.items()]
    rows = ((bar.label, grouped(bar.value or 0)) for bar in bars)
    title = _most("facts", bars, "fact")
    return _of_bars("facts", title, bars, "facts a day", ("day", "facts"), rows)


def _batches(days: Days) -> Chart:
    bars = [_bar(day, brought.done) for day, brought in days.items()]
    title = _most("batches DONE", bars, "batch DONE")
    if rejected := sum(brought.rejected for brought in days.values()):
        title += f"; {counted(rejected, 'was,were')} REJECTED"
    rows = (
        (_long(day), grouped(brought.done), grouped(brought.rejected))
        for day, brought in days.items()
    )
    heads = ("day", "DONE", "REJECTED")
    return _of_bars("batches", title, bars, "batches DONE a day", heads, rows)


def _took(took: Took) -> Chart:
    bars = [Bar(_span(bound), in_time(bound), batches) for bound, batches in took.items()]
    return _of_bars(
        "took",
        _how_long(took),
        bars,
        "batches, by the time from submission to DONE",
        ("from submission to DONE", "batches"),
        ((bar.label, grouped(bar.value or 0)) for bar in bars),
        "Each batch is in one bar: the shortest time within which it was DONE. The time includes "
        "waiting for a block to be final.",
    )


def _how_long(took: Took) -> str:
    """Where half of the batches and nine of ten were DONE, as far as the bounds show."""
    count = sum(took.values())
    half, most, longest = (within_which(took, share) for share in (0.5, 0.9, 1))
    beyond = f"more than {in_time(WITHIN[-1])}"
    if not count:
        return "No batch was DONE in these days"
    if half is None:
        return f"Most batches took {beyond} to be DONE" if count > 1 else f"The batch took {beyond}"
    if most is None:
        return f"Half of the batches were DONE {_span(half)}, the slowest tenth took {beyond}"
    if half == longest:
        return f"{'All batches were' if count > 1 else 'The batch was'} DONE {_span(half)}"
    if half == most:
        return f"Nine of ten batches were DONE {_span(most)}"
    return f"Half of the batches were DONE {_span(half)}, nine of ten {_span(most)}"


def _gas(days: Days) -> Chart:
    bars = [_bar(day, brought.gas_of_a_fact) for day, brought in days.items()]
    gas = sum(brought.gas for brought in days.values())
    facts = sum(brought.facts for brought in days.values())
    average = f"{grouped(round(gas / facts))} gas a fact on average" if facts else ""
    rows = (
        (bar.label, "none" if bar.value is None else grouped(bar.value), grouped(brought.gas))
        for bar, brought in zip(bars, days.values(), strict=True)
    )
    return _of_bars(
        "gas",
        average or "No fact to count gas for",
        bars,
        "gas a fact, by day",
        ("day", "gas a fact", "gas in all"),
        rows,
        "Gas of all settled transactions, failed ones and headers included, divided by the facts "
        "read back. Facts that were already in the registry took none.",
    )


def _most(many: str, bars: Sequence[Bar], one: str) -> str:
    """12,345 facts in 30 days, most on 14 November."""
    values = [bar.value or 0 for bar in bars]
    whole = counted(sum(values), f"{one},{many}")
    if not any(values):
        return f"No {one} in the last {len(bars)} days"
    top = bars[values.index(max(values))]
    days = sum(1 for value in values if value)
    day = top.label.rpartition(" ")[0]
    return f"{whole}, all on {day}" if days == 1 else f"{whole} in {len(bars)} days, most on {day}"


def _bar(day: date, value: int | None) -> Bar:
    return Bar(_long(day), f"{day.day} {day:%b}", value)


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _span(bound: int | None) -> str:
    return LONGEST if bound is None else f"within {in_time(bound)}"
