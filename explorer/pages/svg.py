"""Bar charts and step charts as SVG.

A chart is drawn for 320 pixels and scales up. All values are whole numbers of 0 or more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from explorer.pages.formatting import intcomma

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
    plot = _Plot.fit(values, measure)
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
        text = measure.format_exact(values[tallest])
        # Keep clear of the axis and its ticks.
        x = max(centres[tallest], plot.left + len(text) * LETTER_WIDTH / 2)
        elements.append(_label_text(x, plot.height_of(values[tallest]) - 5, text, "value"))
    elements += _labels([(centre, bar.short) for bar, centre in zip(bars, centres, strict=True)])
    description = _describe([(bar.label, bar.value) for bar in bars], measure)
    return _picture(name, title, description, elements)


def step_chart(name: str, title: str, points: Sequence[Point], measure: Measure) -> SafeString:
    """A line that is level between points; `points` are sorted by `x`."""
    plot = _Plot.fit([point.value for point in points], measure)
    first, last = (points[0].x, points[-1].x) if points else (0, 0)
    scale = (plot.right - plot.left) / max(last - first, 1)
    positions = [
        (plot.left + (point.x - first) * scale, plot.height_of(point.value)) for point in points
    ]
    elements = _axis(plot, measure)
    if points:
        path = "".join(_path_commands(positions, plot.right))
        elements.append(_svg('<path class="line" d="{}"/>', path))
    for point, position in zip(points, positions, strict=True):
        if len(points) <= MAX_DOTS:
            dot = '<circle class="dot" cx="{}" cy="{}" r="3"><title>{}: {}</title></circle>'
            elements.append(_svg(dot, *position, point.label, measure.format_exact(point.value)))
    labels = {x: point.label for point, (x, _) in zip(points, positions, strict=True)}
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
    def fit(cls, values: Sequence[int], measure: Measure) -> "_Plot":
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


def _label_text(x: float, y: float, text: str, kind: str) -> SafeString:
    form = '<text class="{}" x="{}" y="{}">{}</text>'
    return _svg(form, kind, _clamp_centre(x, text), y, text)


def _path_commands(positions: Sequence[tuple[float, float]], end: float) -> Iterator[str]:
    """Skip points that do not change the height."""
    height = ""
    for index, (x, y) in enumerate(positions):
        if index == 0:
            yield f"M{_tenths(x)} {_tenths(y)}"
        elif _tenths(y) != height:
            yield f"H{_tenths(x)}V{_tenths(y)}"
        height = _tenths(y)
    if positions:  # a single point gets a line to the right end
        yield f"H{_tenths(positions[-1][0] if len(positions) > 1 else end)}"


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
