"""The rows as lines for a terminal, and as objects for a program."""

from collections.abc import Iterable, Iterator
from typing import Any

from explorer.bench.rows import Row

WIDTH = 27
SMALL, LARGE = 10, 100


def head() -> str:
    return f"{'row':{WIDTH}} {'ours':>12} {'reference':>12} {'ratio':>9}  unit"


def lines(row: Row) -> Iterator[str]:
    figures = f"{_shown(row.ours):>12} {_shown(row.reference):>12} {_shown(row.ratio):>9}"
    yield f"{row.name:{WIDTH}} {figures}  {row.unit}{_target(row)}"
    for remark in (row.what, *row.remarks):
        yield f"  {remark}"


def as_object(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "ours": row.ours,
        "reference": row.reference,
        "ratio": row.ratio,
        "unit": row.unit,
        "what": row.what,
        "target": _target(row).strip(" ;") or None,
        "remarks": list(row.remarks),
        "figures": dict(row.figures),
    }


def missed(rows: Iterable[Row]) -> str:
    """The sentence that names those that are not what they must be; none where all are."""
    names = ", ".join(
        row.name if row.floor is None else f"{row.name} (its floor)"
        for row in rows
        if not row.passes
    )
    return f"The target is not met: {names}." if names else ""


def _shown(figure: float) -> str:
    """As many digits as say something."""
    size = abs(figure)
    places = 3 if size < SMALL else 1 if size < LARGE else 0
    return f"{figure:,.{places}f}"


def _target(row: Row) -> str:
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("at least", row.least),
            ("at most", row.most),
            ("ours at most", row.allowed),
        )
        if bound is not None
    ]
    if not bounds:
        return ""
    target = f"; {' and '.join(bounds)}: {_met(row.met)}"
    if row.floor is None:
        return target
    gap = "" if row.met else ", a known gap"
    return f"{target}{gap}; its floor of {row.floor:g}: {_met(row.passes)}"


def _met(is_met: bool) -> str:  # noqa: FBT001
    return "met" if is_met else "not met"
