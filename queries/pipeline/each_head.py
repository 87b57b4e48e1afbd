"""What each node of a chain says of its head, asked by itself: nothing can be checked of a head."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead, read_head
from queries.chain.nodes import ENOUGH_NODES, Nodes
from queries.routes import Chain

ALONE_WITHIN = 2.0  # seconds, for the answer of one node that is asked beside the others
SILENT_FOR = 300.0  # seconds in which one that gave none is not asked where it may be left out
# So much less than others a head may have, by the chain's own time or by numbers: a node that
# starts is behind and moves all the same, and one that lies may be true in one of the two.
SECONDS_BEHIND, BLOCKS_BEHIND = 60, 120
AHEAD_OF_OURS = 3_600  # seconds: where another one's head is nearer to our clock, it is believed


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a chain is, as so many of its nodes say."""

    number: int
    timestamp: int
    of: int

    def is_ahead_of(self, head: ChainHead) -> bool:
        """By so much that whoever tells of that head should be passed over."""
        return (
            head.timestamp < self.timestamp - SECONDS_BEHIND
            or head.number < self.number - BLOCKS_BEHIND
        )


class EachHead:
    """For one thread. Of a chain with one node there is nothing to ask beside it."""

    def __init__(self, chain: Chain, *, until: float = math.inf) -> None:
        addresses = chain.nodes if len(chain.nodes) > 1 else ()
        self._nodes = [
            Nodes(
                replace(chain, nodes=(address,)),
                timeout=ALONE_WITHIN,
                patience=0,
                until=until,
                first=number,
            )
            for number, address in enumerate(addresses, 1)
        ]
        self._silent_until = [0.0] * len(self._nodes)  # by the monotonic clock

    def told(self, *, by_silent_ones: bool = True) -> list[ChainHead]:
        """One by one, as far as they answer."""
        found: list[ChainHead] = []
        for place, node in enumerate(self._nodes):
            if not by_silent_ones and time.monotonic() < self._silent_until[place]:
                continue
            try:
                found.append(read_head(node))
                self._silent_until[place] = 0.0
            except ChainError:
                self._silent_until[place] = time.monotonic() + SILENT_FOR
        return found

    def reached(self) -> Reached | None:
        """By two, or by one where no more than two answer; None where it is fewer."""
        found = self.told(by_silent_ones=False)
        if len(found) < ENOUGH_NODES:
            return None
        if len(found) == ENOUGH_NODES:
            one = _believed(*found)
            return Reached(one.number, one.timestamp, ENOUGH_NODES)
        return Reached(
            _second_highest([each.number for each in found]),
            _second_highest([each.timestamp for each in found]),
            len(found),
        )

    def close(self) -> None:
        for node in self._nodes:
            node.close()


def _second_highest(told: Sequence[int]) -> int:
    return sorted(told)[-ENOUGH_NODES]


def _believed(one: ChainHead, other: ChainHead) -> ChainHead:
    """The one that is ahead; but where they contradict each other, or one is ahead of all clocks,
    that whose time is nearer to ours. Of a true time with more blocks nobody could say whether
    they are made up.
    """
    now = time.time()
    earlier, later = sorted((one, other), key=lambda each: each.timestamp)
    is_ahead_of_ours = earlier.timestamp <= now + AHEAD_OF_OURS < later.timestamp
    contradict = (
        later.timestamp > earlier.timestamp + SECONDS_BEHIND and later.number < earlier.number
    )
    if is_ahead_of_ours or contradict:
        return min(one, other, key=lambda each: abs(each.timestamp - now))
    return max(one, other, key=lambda each: (each.number, each.timestamp))
