"""Charts as SVG, drawn from numbers alone.

Every element goes through `_element`, which escapes what it is given, so that no text can become
markup. Colours come from the stylesheet by class; there is no style in the drawing, because the
pages' policy forbids it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

LETTER = 0.62  # of the font's size: about as wide as a digit is


@dataclass(frozen=True, slots=True)
class Size:
    """Of a drawing, in its own units; the page shows it about so large."""

    name: str  # the class that the stylesheet shows or hides it by
    width: int
    height: int
    font: int
    ticks: int  # at most, along the lower edge


WIDE = Size("for-wide", 720, 280, 13, 6)
NARROW = Size("for-narrow", 340, 260, 12, 3)


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis measures: the name with its unit, and its marks as (value, label)."""

    title: str
    marks: tuple[tuple[float, str], ...]
    least: float
    greatest: float

    def part(self, value: float) -> float:
        """Where the value lies, from 0 to 1; in the middle where there is but one."""
        extent = self.greatest - self.least
        return (value - self.least) / extent if extent else 0.5


@dataclass(frozen=True, slots=True)
class Field:
    """The part of a drawing between its axes."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, part: float) -> float:
        return self.left + (self.right - self.left) * part

    def y(self, part: float) -> float:
        return self.bottom - (self.bottom - self.top) * part


def step_chart(points: Sequence[tuple[float, float]], across: Axis, up: Axis, size: Size) -> str:
    """A value that is known at some places, and drawn as it was until the next one."""
    left = max((len(label) for _, label in up.marks), default=1) * size.font * LETTER + 12
    field = Field(left, size.font * 2.2, size.width - 14, size.height - size.font * 3.6)
    placed = [(field.x(across.part(x)), field.y(up.part(y))) for x, y in points]
    return _element(
        "svg",
        {
            "class": f"chart {size.name}",
            "viewBox": f"0 0 {size.width} {size.height}",
            "font-size": size.font,
            "aria-hidden": "true",
        },
        *_grid(up, field, size),
        *_marks_across(across, field, size),
        _text(up.title, 0, size.font, "title", "start"),
        _text(across.title, field.right, size.height - 4, "title", "end"),
        *_line(placed),
        *_points(placed),
    )


def even_marks(least: float, greatest: float, most: int) -> tuple[float, ...]:
    """Round values that hold all from `least` to `greatest` between the first and the last."""
    extent = max(greatest - least, 0) or abs(greatest) or 1
    step = next(
        step
        for power in range(-30, 80)
        for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if extent / step <= most - 1
    )
    first, last = least // step, -(-greatest // step)
    return tuple(step * place for place in range(int(first), int(max(last, first + 1)) + 1))


def _grid(up: Axis, field: Field, size: Size) -> Iterator[SafeString]:
    for value, label in up.marks:
        y = field.y(up.part(value))
        line = f"M{_n(field.left)} {_n(y)}H{_n(field.right)}"
        yield _element("path", {"class": "grid", "d": line})
        yield _text(label, field.left - 6, y + size.font * 0.35, "mark-label", "end")


def _marks_across(across: Axis, field: Field, size: Size) -> Iterator[SafeString]:
    for value, label in across.marks:
        x = field.x(across.part(value))
        half = len(label) * size.font * LETTER / 2
        anchor = "end" if x + half > size.width else "start" if x < half else "middle"
        yield _element("path", {"class": "tick", "d": f"M{_n(x)} {_n(field.bottom)}v5"})
        yield _text(label, x, field.bottom + 6 + size.font, "mark-label", anchor)


def _points(placed: Sequence[tuple[float, float]]) -> Iterator[SafeString]:
    for x, y in placed:
        yield _element("circle", {"class": "point", "cx": _n(x), "cy": _n(y), "r": 3.5})


def _line(placed: Sequence[tuple[float, float]]) -> list[SafeString]:
    """To each point straight across, then up or down."""
    if not placed:
        return []
    x, y = placed[0]
    steps = "".join(f"H{_n(to[0])}V{_n(to[1])}" for _, to in pairwise(placed))
    return [_element("path", {"class": "line", "d": f"M{_n(x)} {_n(y)}{steps}"})]


def _text(words: str, x: float, y: float, name: str, anchor: str) -> SafeString:
    return _element("text", {"class": name, "x": _n(x), "y": _n(y), "text-anchor": anchor}, words)


def _element(name: str, attributes: dict[str, object], *inside: str) -> SafeString:
    """`name` and the attributes' names are ours; all else is escaped unless it was made here."""
    told = (format_html(' {}="{}"', key, value) for key, value in attributes.items())
    within = (conditional_escape(each) for each in inside)
    return mark_safe(f"<{name}{''.join(told)}>{''.join(within)}</{name}>")  # noqa: S308


def _n(number: float) -> str:
    return f"{number:.1f}"
