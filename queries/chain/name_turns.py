"""Whose names are looked up next, and at which nodes: for all threads of a process.

How long a name takes is the choice of whoever set its resolver, and a node may hang for names
alone. So one thread at a time asks about a chain's names. What took long is left alone for longer
than it took: its node for a while, and who asked for twice that, so that others come first. Where
nothing comes of it, the pauses grow.
"""

import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from queries.chain.errors import ChainError, NamesUnanswered, NodesRefuse, NodesUnreachable
from queries.routes import Chain, NodeAddress

SLOW = 1.0  # seconds: what takes less is followed by no rest
REST = 3  # times as long as it took: with one node, names have a quarter of one thread at most
LONGEST = 20.0  # seconds, taken so many times
MOST_TIMES = 10  # in a row that are counted
FORGOTTEN_AFTER = 300.0  # seconds after its rest, for how often in a row it failed


class NamesBusy(Exception):  # noqa: N818
    """Another thread asks about names of the chain now."""


class NameTurns:
    """`who` is the account whose batch names them; None where that is nobody's concern."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Chains that are asked at this moment, with the seconds for which their nodes hung.
        self._asked: dict[int, float] = {}
        self._until: dict[Hashable, float] = {}  # rests, by the monotonic clock
        self._failed: dict[Hashable, int] = {}  # in a row

    def be_awake(self, chain: Chain, who: int | None, enough: int) -> None:
        """`NamesUnanswered` while who asks rests, or too many of the chain's nodes do."""
        with self._lock:
            nodes = sorted(self._left(node.url) for node in chain.nodes)
            left = max(self._left((chain.id, who)), nodes[enough - 1])
        if left > 0:
            raise _unanswered(chain, left)

    @contextmanager
    def place(self, chain: Chain, who: int | None) -> Iterator[None]:
        """For one at a time: else `NamesBusy`."""
        key = chain.id, who
        with self._lock:
            if chain.id in self._asked:
                raise NamesBusy
            self._asked[chain.id] = 0.0
        begin, failed = time.monotonic(), False
        try:
            yield
        except ChainError:
            failed = True
            raise
        finally:
            with self._lock:
                hung = self._asked.pop(chain.id)
                # Where other nodes answered, who asked was not the cause.
                seconds = time.monotonic() - begin - (0.0 if failed else hung)
                self._took(key, seconds, 2 * REST, failed=failed)

    @contextmanager
    def asking(self, chain: Chain, node: NodeAddress) -> Iterator[None]:
        """`NamesUnanswered` where it hangs, and while it rests."""
        with self._lock:
            left = self._left(node.url)
        if left > 0:
            raise _unanswered(chain, left)
        begin, failed = time.monotonic(), False
        try:
            yield
        except (NodesUnreachable, NodesRefuse):  # refused: it has a time of its own for a call
            failed = True
            seconds = time.monotonic() - begin
            if seconds > SLOW:
                with self._lock:
                    self._asked[chain.id] += seconds
                raise _unanswered(chain, REST * seconds, asked=True) from None
            raise
        finally:
            with self._lock:
                self._took(node.url, time.monotonic() - begin, REST, failed=failed)

    def _left(self, key: Hashable) -> float:
        return self._until.get(key, 0.0) - time.monotonic()

    def _took(self, key: Hashable, seconds: float, times: float, *, failed: bool) -> None:
        now = time.monotonic()
        for each in [each for each, until in self._until.items() if now > until + FORGOTTEN_AFTER]:
            del self._until[each]
            self._failed.pop(each, None)
        if seconds > SLOW:
            before = self._failed.get(key, 0)
            self._until[key] = now + times * min(seconds * 2**before, LONGEST)
            self._failed[key] = min(before + 1, MOST_TIMES) if failed else 0
        elif not failed:
            self._failed.pop(key, None)


def _unanswered(chain: Chain, rests_for: float, *, asked: bool = False) -> NamesUnanswered:
    return NamesUnanswered(NamesUnanswered.says.format(chain=chain.name), rests_for, asked=asked)
