"""Bar charts and step charts as SVG.

A chart is as wide as its place: horizontal positions are percentages, heights and letters have a
fixed size. All values are whole numbers of 0 or more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from explorer.pages.formatting import intcomma

HEIGHT = 190
TOP_MARGIN, BOTTOM_MARGIN = 40, 22  # for the unit and a value, and for the labels
LEFT, RIGHT = 12, 100  # percent; ticks stand at the left end of their lines
NARROW = 250  # the narrowest place, in pixels: labels that fit there fit everywhere
LETTER_WIDTH = 6.5  # roughly, in pixels
LABEL_GAP = 8  # between two labels
MAX_BAR_WIDTH = 12  # percent
MAX_LABELLED_BARS = 5  # more have a value above the tallest only
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


def bar_chart(
    name: str, title: str, bars: Sequence[Bar], measure: Measure, striking: int | None = None
) -> SafeString:
    """A bar per value. Of many bars only the tallest has its value above it, and all have ticks."""
    values = [bar.value or 0 for bar in bars]
    tallest = values.index(max(values)) if any(values) else None
    striking = tallest if striking is None else striking
    are_labelled = len(bars) <= MAX_LABELLED_BARS
    scale = _Scale.fit(values)
    left = 0 if are_labelled else LEFT
    slot = (RIGHT - left) / max(len(bars), 1)
    centres = [left + slot * (index + 0.5) for index in range(len(bars))]
    width = min(slot * 0.72, MAX_BAR_WIDTH)
    elements = _grid(scale, measure)[: 2 if are_labelled else None]
    for index, (bar, centre) in enumerate(zip(bars, centres, strict=True)):
        if not bar.value:
            continue
        top = scale.height_of(bar.value)
        elements.append(
            _svg(
                '<rect class="{}" x="{}%" y="{}" width="{}%" height="{}">'
                "<title>{}: {}</title></rect>",
                *("bar striking" if index == striking else "bar", centre - width / 2, top),
                *(width, scale.bottom - top, bar.label, measure.format_exact(bar.value)),
            )
        )
        if index == tallest or are_labelled:
            text = measure.format_exact(bar.value)
            elements.append(_text("value", centre, top - 5, text))
    elements += _labels([(centre, bar.short) for bar, centre in zip(bars, centres, strict=True)])
    elements += [] if are_labelled else _ticks(scale, measure)
    description = _describe([(bar.label, bar.value) for bar in bars], measure)
    return _picture(name, title, description, elements)


def step_chart(name: str, title: str, points: Sequence[Point], measure: Measure) -> SafeString:
    """A line that is level between points; `points` are sorted by `x`."""
    scale = _Scale.fit([point.value for point in points])
    first, last = (points[0].x, points[-1].x) if points else (0, 0)
    width = (RIGHT - 2 - LEFT) / max(last - first, 1)  # room for the last dot
    positions = [
        (LEFT + (point.x - first) * width, scale.height_of(point.value)) for point in points
    ]
    elements = [*_grid(scale, measure), *_steps(positions)]
    for point, position in zip(points, positions, strict=True):
        if len(points) <= MAX_DOTS:
            dot = '<circle class="dot" cx="{}%" cy="{}" r="3"><title>{}: {}</title></circle>'
            elements.append(_svg(dot, *position, point.label, measure.format_exact(point.value)))
    labels = {x: point.label for point, (x, _) in zip(points, positions, strict=True)}
    elements += _labels([(x, labels[x]) for x in labels if x in (min(labels), max(labels))])
    elements += _ticks(scale, measure)
    description = _describe([(point.label, point.value) for point in points], measure)
    return _picture(name, title, description, elements)


def _svg(template: str, *values: str | float) -> SafeString:
    """Rounds numbers to a tenth; escapes texts."""
    texts = (value if isinstance(value, str) else _tenths(value) for value in values)
    return format_html(template, *texts)


@dataclass(frozen=True, slots=True)
class _Scale:
    """From 0 at the bottom to a round number at the top."""

    step: int
    top_value: int
    bottom: int = HEIGHT - BOTTOM_MARGIN

    @classmethod
    def fit(cls, values: Sequence[int]) -> "_Scale":
        largest = max(values, default=0)
        step = _tick_step(largest)
        return cls(step, max(-(-largest // step), 1) * step)

    @property
    def ticks(self) -> range:
        return range(0, self.top_value + 1, self.step)

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


def _grid(scale: _Scale, measure: Measure) -> list[SafeString]:
    form = '<line class="grid" x1="0%" x2="100%" y1="{0}" y2="{0}"/>'
    unit = _svg('<text class="unit" x="0%" y="12">{}</text>', measure.unit)
    return [unit, *(_svg(form, scale.height_of(value)) for value in scale.ticks)]


def _ticks(scale: _Scale, measure: Measure) -> list[SafeString]:
    """On their lines, and above what is drawn."""
    form = '<text class="tick" x="0%" y="{}">{}</text>'
    return [
        _svg(form, scale.height_of(value) - 4, measure.format_short(value))
        for value in scale.ticks[1:]
    ]


def _labels(labels: Sequence[tuple[float, str]]) -> list[SafeString]:
    """As many as fit at even distances, always with the last one."""
    latest_first = labels[::-1]
    steps = range(1, len(labels) + 1)
    fitting = next((latest_first[::n] for n in steps if _labels_fit(latest_first[::n])), [])
    return [_text("label", x, HEIGHT - 6, label) for x, label in fitting]


def _labels_fit(labels: Sequence[tuple[float, str]]) -> bool:
    return all(
        _left_end(x2, text2) - _left_end(x1, text1) >= len(text1) * LETTER_WIDTH + LABEL_GAP
        for (x2, text2), (x1, text1) in pairwise(labels)
    )


def _left_end(x: float, text: str) -> float:
    """Where the text begins in the narrowest place, in pixels."""
    anchor, x = _anchor(x, text)
    shift = {"start": 0, "middle": 0.5, "end": 1}[anchor] * len(text) * LETTER_WIDTH
    return x * NARROW / 100 - shift


def _anchor(x: float, text: str) -> tuple[str, float]:
    """A text that would be cut off at an end of the narrowest chart stands at that end."""
    half = len(text) * LETTER_WIDTH / 2 * 100 / NARROW
    if x - half < 0:
        return "start", 0
    return ("end", RIGHT) if x + half > RIGHT else ("middle", x)


def _text(kind: str, x: float, y: float, text: str) -> SafeString:
    form = '<text class="{}" text-anchor="{}" x="{}%" y="{}">{}</text>'
    return _svg(form, kind, *_anchor(x, text), y, text)


def _steps(positions: Sequence[tuple[float, float]]) -> Iterator[SafeString]:
    """Lines to each point: level, then up or down. A single point has a line to the right end."""
    form = '<line class="line" x1="{}%" y1="{}" x2="{}%" y2="{}"/>'
    if len(positions) == 1:
        (x, y) = positions[0]
        yield _svg(form, x, y, RIGHT, y)
    start = positions[0] if positions else (0.0, 0.0)
    for (_, y), (next_x, next_y) in pairwise(positions):
        if next_y != y:  # one line for all points of the same height
            yield _svg(form, *start, next_x, y)
            yield _svg(form, next_x, y, next_x, next_y)
            start = next_x, next_y
    if positions and start != positions[-1]:
        yield _svg(form, *start, *positions[-1])


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
        '<svg class="chart" width="100%" height="{height}" role="img"'
        ' aria-labelledby="{name}-title {name}-description">'
        '<title id="{name}-title">{title}</title>'
        '<desc id="{name}-description">{description}</desc>{elements}</svg>',
        height=HEIGHT,
        name=name,
        title=title,
        description=description,
        elements=format_html_join("", "{}", ((element,) for element in elements)),
    )


def _tenths(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
