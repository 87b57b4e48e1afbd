"""What each node of a chain says of its head, asked by itself: nothing can be checked of a head."""

import math
import time
from dataclasses import replace

from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead, read_head
from queries.chain.nodes import ENOUGH_NODES, Nodes
from queries.routes import Chain

ALONE_WITHIN = 2.0  # seconds, for the answer of one node that is asked beside the others
SILENT_FOR = 300.0  # seconds in which one that gave none is not asked where it may be left out


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

    def time_of_most(self) -> int | None:
        """The last that two have reached; of two nodes, one. None where fewer than two answer."""
        times = sorted(each.timestamp for each in self.told(by_silent_ones=False))
        if len(times) < ENOUGH_NODES:
            return None
        return times[-min(ENOUGH_NODES, len(self._nodes) - 1)]

    def close(self) -> None:
        for node in self._nodes:
            node.close()
