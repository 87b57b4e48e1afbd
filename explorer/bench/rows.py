"""What a row of the table is, and how much is done for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


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
    remarks: tuple[str, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is done. As they stand here the figures of the README are made."""

    seconds: float = 4.0  # of each turn under load
    turns: int = 5  # each side has, one after the other
    few_queries: int = 1_000
    many_queries: int = 1_000_000
    submissions: int = 30  # of each size
    accounts: int = 1_000  # of one block
    waited_for: int = 50  # of these, by the script that waits for each
    batches: int = 5_000
    blocks: int = 50  # that these are over
    latencies: int = 5  # batches, one after the other
    slow_latencies: int = 2  # with a block every twelve seconds
    memory_batches: int = 10_000
    corpus: Path = Path("../shared/corpus")


@dataclass(frozen=True)
class Bench:
    """One run: how much is done, which rows are wanted, and where its programs keep their logs."""

    sizes: Sizes
    wanted: frozenset[str]
    folder: Path
    say: Callable[[str], None]
    found: dict[str, float] = field(default_factory=dict)  # what several rows share
