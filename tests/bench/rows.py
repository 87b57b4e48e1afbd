"""A row of the table, the options that set the size of a run, and how rows are printed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WIDTH = 27
SMALL, LARGE = 10, 100


@dataclass(frozen=True, slots=True)
class Row:
    """One figure and its reference, in the same unit and from the same run."""

    name: str
    what: str
    ours: float
    reference: float
    unit: str
    min_ratio: float | None = None
    max_ratio: float | None = None
    max_ours: float | None = None
    remarks: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # from the remarks, for programs

    @property
    def ratio(self) -> float:
        return self.ours / self.reference

    @property
    def is_met(self) -> bool:
        return (
            (self.min_ratio is None or self.ratio >= self.min_ratio)
            and (self.max_ratio is None or self.ratio <= self.max_ratio)
            and (self.max_ours is None or self.ours <= self.max_ours)
        )


def _size(value: float, small: float, what: str) -> Any:
    return field(default=value, metadata={"what": what, "small": small})


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of a run. Every field is an option of the command."""

    seconds: float = _size(4.0, 0.2, "status_…: seconds of each turn under load")
    turns: int = _size(5, 1, "status_…, thousand_accounts…: turns of each side, alternating")
    few_queries: int = _size(1_000, 1_000, "status_…: queries of the small database")
    many_queries: int = _size(1_000_000, 2_000, "status_growth: queries of the large database")
    due_rows: int = _size(100_000, 500, "claim_…: due rows in the long queue")
    accounts: int = _size(1_000, 20, "thousand_accounts…: accounts of the block")
    waited_for: int = _size(
        50, 3, "thousand_accounts: accounts proven by the script that waits for each receipt"
    )
    batches: int = _size(5_000, 40, "many_batches_…: batches of one account each")
    blocks: int = _size(50, 8, "many_batches_…: blocks that the batches are spread over")
    latencies: int = _size(5, 1, "latency_blocks, delivery_blocks, feed_blocks: batches, in turn")
    nodes: int = _size(1, 1, "thousand_accounts…, many_batches_…, …_blocks: names of the node")


@dataclass(frozen=True)
class Bench:
    """One run: its size, the wanted rows, and the folder of its programs' logs."""

    sizes: Sizes
    wanted: frozenset[str]
    folder: Path
    say: Callable[[str], None]


def head() -> str:
    return f"{'row':{WIDTH}} {'ours':>12} {'reference':>12} {'ratio':>9}  unit"


def lines(row: Row) -> Iterator[str]:
    figures = f"{_rounded(row.ours):>12} {_rounded(row.reference):>12} {_rounded(row.ratio):>9}"
    target = f"; {_target(row)}" if _target(row) else ""
    yield f"{row.name:{WIDTH}} {figures}  {row.unit}{target}"
    for remark in (row.what, *row.remarks):
        yield f"  {remark}"


def to_json_object(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "ours": row.ours,
        "reference": row.reference,
        "ratio": row.ratio,
        "unit": row.unit,
        "what": row.what,
        "target": _target(row) or None,
        "remarks": list(row.remarks),
        "figures": dict(row.figures),
    }


def missed_targets(rows: Iterable[Row]) -> str:
    """Name the rows that miss their target, in a sentence; empty if there is none."""
    names = ", ".join(row.name for row in rows if not row.is_met)
    return f"The target is not met: {names}." if names else ""


def _rounded(figure: float) -> str:
    """To three or four significant digits."""
    size = abs(figure)
    places = 3 if size < SMALL else 1 if size < LARGE else 0
    return f"{figure:,.{places}f}"


def _target(row: Row) -> str:
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("at least", row.min_ratio),
            ("at most", row.max_ratio),
            ("ours at most", row.max_ours),
        )
        if bound is not None
    ]
    return f"{' and '.join(bounds)}: {'met' if row.is_met else 'not met'}" if bounds else ""
