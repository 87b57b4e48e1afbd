"""What a row of the table is, and how much is done for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class BenchFailed(Exception):  # noqa: N818
    """Why nothing could be measured, in a sentence for who started it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside its reference; both in the same unit, and from the same run."""

    name: str
    what: str
    ours: float
    reference: float
    unit: str
    least: float | None = None  # that the ratio is to reach
    most: float | None = None  # that it is not to pass
    allowed: float | None = None  # that ours is not to pass
    # Of a known gap: what the ratio must reach all the same. It decides, and the target is told.
    floor: float | None = None
    remarks: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # what remarks tell, for a program

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


def _size(value: float | Path, what: str) -> Any:
    return field(default=value, metadata={"what": what})


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done. As they stand here the figures of the README are made."""

    seconds: float = _size(4.0, "status_…: seconds of each turn under load")
    turns: int = _size(
        5, "status_…, thousand_accounts…: turns that each side has, one after the other"
    )
    few_queries: int = _size(1_000, "status_…: queries stored, where they are few")
    many_queries: int = _size(1_000_000, "status_growth: queries stored, where they are many")
    submissions: int = _size(30, "submit_…: batches of each size that are submitted")
    accounts: int = _size(1_000, "thousand_accounts…: accounts of the block")
    waited_for: int = _size(
        50, "thousand_accounts: of these, how many the script that waits for each has proven"
    )
    batches: int = _size(5_000, "many_batches_…: batches of one account each")
    blocks: int = _size(50, "many_batches_…: blocks that these are over")
    latencies: int = _size(5, "latency_blocks: batches, one after the other")
    slow_latencies: int = _size(2, "latency_blocks_12: batches, with a block every twelve seconds")
    memory_batches: int = _size(10_000, "memory_…: batches between the first look and the last")
    nodes: int = _size(
        1, "thousand_accounts…, many_batches_…, latency_…, memory_…: names of the chain's one node"
    )
    corpus: Path = _size(  # noqa: RUF009  (a field)
        Path("../shared/corpus"), "gas, stored_calldata: the folder of recorded blocks and proofs"
    )


@dataclass(frozen=True)
class Bench:
    """One run: how much is done, which rows are wanted, and where its programs keep their logs."""

    sizes: Sizes
    wanted: frozenset[str]
    folder: Path
    say: Callable[[str], None]
    found: dict[str, float] = field(default_factory=dict)  # what several rows share
