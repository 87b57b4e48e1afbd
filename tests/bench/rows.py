"""What a row of the table is, how much is done for it, and how it is printed."""

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
    least: float | None = None  # the ratio must reach it
    most: float | None = None  # the ratio must not exceed it
    allowed: float | None = None  # ours must not exceed it
    # For a target that is known to be missed: what the ratio must reach all the same.
    floor: float | None = None
    remarks: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # from the remarks, for programs

    @property
    def ratio(self) -> float:
        return self.ours / self.reference

    @property
    def met(self) -> bool:
        return (
            (self.least is None or self.ratio >= self.least)
            and (self.most is None or self.ratio <= self.most)
            and (self.allowed is None or self.ours <= self.allowed)
        )

    @property
    def passes(self) -> bool:
        return self.met if self.floor is None else self.ratio >= self.floor


def _size(value: float, what: str) -> Any:
    return field(default=value, metadata={"what": what})


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done. Each is an option of the command."""

    seconds: float = _size(4.0, "status_…: seconds of each turn under load")
    turns: int = _size(5, "status_…, thousand_accounts…: turns of each side, alternating")
    few_queries: int = _size(1_000, "status_…: queries stored, where they are few")
    many_queries: int = _size(1_000_000, "status_growth: queries stored, where they are many")
    submissions: int = _size(30, "submit_…: batches of each size that are submitted")
    due_rows: int = _size(100_000, "claim_…: due rows in the long queue")
    accounts: int = _size(1_000, "thousand_accounts…: accounts of the block")
    waited_for: int = _size(
        50, "thousand_accounts: accounts proven by the script that waits for each receipt"
    )
    batches: int = _size(5_000, "many_batches_…: batches of one account each")
    blocks: int = _size(50, "many_batches_…: blocks that these are spread over")
    latencies: int = _size(5, "latency_blocks: batches, one after the other")
    slow_latencies: int = _size(2, "latency_blocks_12: batches, with a block every twelve seconds")
    memory_batches: int = _size(10_000, "memory_…: batches between the first sample and the last")
    nodes: int = _size(
        1, "thousand_accounts…, many_batches_…, latency_…, memory_…: names of the chain's one node"
    )


@dataclass(frozen=True)
class Bench:
    """One run: how much is done, which rows are wanted, and the folder of its programs' logs."""

    sizes: Sizes
    wanted: frozenset[str]
    folder: Path
    say: Callable[[str], None]


def head() -> str:
    return f"{'row':{WIDTH}} {'ours':>12} {'reference':>12} {'ratio':>9}  unit"


def lines(row: Row) -> Iterator[str]:
    figures = f"{_shown(row.ours):>12} {_shown(row.reference):>12} {_shown(row.ratio):>9}"
    target = f"; {_target(row)}" if _target(row) else ""
    yield f"{row.name:{WIDTH}} {figures}  {row.unit}{target}"
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
        "target": _target(row) or None,
        "remarks": list(row.remarks),
        "figures": dict(row.figures),
    }


def missed(rows: Iterable[Row]) -> str:
    """The sentence that names the rows whose target or floor is missed; empty if there is none."""
    names = ", ".join(
        row.name if row.floor is None else f"{row.name} (its floor)"
        for row in rows
        if not row.passes
    )
    return f"The target is not met: {names}." if names else ""


def _shown(figure: float) -> str:
    """With as many digits as say something."""
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
    target = f"{' and '.join(bounds)}: {_met(row.met)}"
    if row.floor is None:
        return target
    gap = "" if row.met else ", a known gap"
    return f"{target}{gap}; its floor of {row.floor:g}: {_met(row.passes)}"


def _met(is_met: bool) -> str:  # noqa: FBT001
    return "met" if is_met else "not met"
