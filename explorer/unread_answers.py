"""The large answers of a process that wait for their readers on the disk, within a bound.

Where there is no room for another one, whoever reads slowest gives way: who asks for much and does
not read keeps nobody from what they read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

LARGE = 2**20  # bytes of an answer: a proof, or a file of many facts
MOST = 2**30  # bytes of all of them
HEAD_START = 2**16  # bytes that count as taken at the beginning, so that nobody is slow at once


@dataclass(eq=False, slots=True)
class Reader:
    """`give_up` ends what is sent to them, soon."""

    size: int
    give_up: Callable[[], None]
    began: float
    taken: int = 0

    @property
    def pace(self) -> float:
        """Bytes a second. Of those who took as much, who began first is the slowest."""
        return (HEAD_START + self.taken) / max(monotonic() - self.began, 1e-6)


class UnreadAnswers:
    """Those of one process."""

    def __init__(self) -> None:
        self._readers = set[Reader]()

    def add(self, size: int, give_up: Callable[[], None]) -> Reader | None:
        """None where there is no room: one that is too large for it is sent alone, or not."""
        if self._readers and size > MOST:
            return None
        while self._readers and self._held + size > MOST:
            slowest = min(self._readers, key=lambda each: each.pace)
            self._readers.remove(slowest)
            slowest.give_up()
        reader = Reader(size, give_up, monotonic())
        self._readers.add(reader)
        return reader

    def remove(self, reader: Reader) -> None:
        self._readers.discard(reader)

    @property
    def _held(self) -> int:
        return sum(each.size for each in self._readers)
