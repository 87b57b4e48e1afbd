"""What really happened of the faults of a turn: how often each was begun, and what came of it."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Of one kind of fault."""

    of: str  # what is counted of it
    begun: int = 0
    felt: int = 0  # those of them that came to something
    came: int = 0

    def __str__(self) -> str:
        vain = f" ({self.begun - self.felt} in vain)" if self.felt < self.begun else ""
        return f"{self.begun} begun{vain}, {self.came:,} {self.of}"


@dataclass(frozen=True)
class TakenAway:
    """What one reorganisation replaced."""

    chain: int
    blocks: Mapping[int, str]  # number → hash
    transactions: frozenset[str]  # hashes of those that were in them


@dataclass
class Happened:
    """By the names of kinds; for many threads."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    taken_away: list[TakenAway] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)  # faults that could not be brought about
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self, kind: str, of: str) -> None:
        with self._lock:
            self.tallies.setdefault(kind, Tally(of)).begun += 1

    def came(self, kind: str, count: int) -> None:
        with self._lock:
            self.tallies[kind].came += count
            self.tallies[kind].felt += count > 0

    def in_vain(self) -> list[str]:
        """Kinds of which nothing came, however often they were begun."""
        with self._lock:
            return sorted(kind for kind, tally in self.tallies.items() if not tally.came)

    def fail(self, kind: str, fault: Exception) -> None:
        with self._lock:
            self.failed.append(f"{kind}: {type(fault).__name__}: {fault}")


def without_effect(tallies: Mapping[str, Tally]) -> Iterator[str]:
    """Kinds that were begun in a turn, and never came to anything in all of it."""
    for kind, tally in sorted(tallies.items()):
        if not tally.came:
            yield f"{kind}: {tally.begun} begun, and none had any effect ({tally.of})"
