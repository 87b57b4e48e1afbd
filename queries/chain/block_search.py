"""Which block was the last one at a time, in few questions."""

from dataclasses import dataclass
from typing import Protocol

from accounts.times import spoken
from queries.chain.errors import NodesLie, TimeTooEarly, TimeTooLate
from queries.chain.heads import ChainHead
from queries.proving.headers import Header


class Headers(Protocol):
    """A chain's headers."""

    def header(self, number: int) -> Header: ...
    def header_of(self, block_hash: bytes) -> Header: ...
    def headers(self, first: int, last: int) -> list[Header]: ...


@dataclass(slots=True)
class _Between:
    """The time lies between these two blocks: at or after `low`, before `high`."""

    low: Header
    high: Header

    @property
    def blocks(self) -> int:
        return self.high.number - self.low.number

    def guess(self, seconds: int) -> int:
        """Where the block would be if all had come at the same pace."""
        pace = (seconds - self.low.timestamp) * self.blocks
        number = self.low.number + pace // (self.high.timestamp - self.low.timestamp)
        return min(max(number, self.low.number + 1), self.high.number - 1)

    def take(self, header: Header, seconds: int) -> None:
        if not self.low.timestamp <= header.timestamp <= self.high.timestamp:
            raise NodesLie(
                f"The nodes say that block {header.number} is older than one before it, or "
                "younger than one after it."
            )
        if header.timestamp <= seconds:
            self.low = header
        else:
            self.high = header


def last_block_at(chain: Headers, seconds: int, head: ChainHead) -> tuple[Header, Header]:
    """The last block whose timestamp is at most `seconds`, and its successor.

    Blocks come at an even pace for most of a chain's life, so the place is guessed; where a guess
    was poor, the middle is taken.
    """
    between = _Between(_earliest(chain, seconds, head), chain.header_of(head.hash))
    halved = True
    while between.blocks > 1:
        blocks = between.blocks
        middle = between.low.number + blocks // 2
        number = between.guess(seconds) if halved else middle
        between.take(chain.header(number), seconds)
        halved = between.blocks <= blocks // 2
    if between.high.parent_hash != between.low.hash:
        # Two nodes, or a reorganisation between two questions: the child decides.
        between.low = chain.header_of(between.high.parent_hash)
        if between.low.timestamp > seconds:
            raise NodesLie("The nodes do not agree on which block was the last one at that time.")
    return between.low, between.high


def _earliest(chain: Headers, seconds: int, head: ChainHead) -> Header:
    if seconds >= head.timestamp:
        raise TimeTooLate(
            f"No block after that time is known yet; {head.timestamp - 1} is the latest time "
            f"that works ({spoken(head.timestamp - 1)}).",
            head.timestamp - 1,
        )
    # Some chains' first block has no time, which would make every guess a bad one.
    first = chain.headers(0, min(1, head.number))
    if seconds < first[0].timestamp:
        raise TimeTooEarly(
            f"The chain began at {first[0].timestamp}, which is the earliest time that works "
            f"({spoken(first[0].timestamp)}).",
            first[0].timestamp,
        )
    return first[-1] if first[-1].timestamp <= seconds else first[0]
