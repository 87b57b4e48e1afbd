"""What a registry says of a fact right now, for a visitor who would rather see than believe.

Anyone can have it asked, so a process asks few such questions at once, and the nodes together have
a few seconds for each.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from queries.chain.destination import Destination
from queries.chain.registry_facts import FactRead, RegistryFacts
from queries.held_threads import place_to_wait
from queries.routes import Chain, Registry

AT_ONCE = 2
DEADLINE = 5.0  # seconds


class TooManyReads(Exception):  # noqa: N818
    """As many questions as are asked at once are being asked."""


@dataclass(frozen=True, slots=True)
class LiveWords:
    """The words, or None where one is not proven, at the newest block of the registry's chain."""

    block: int
    words: tuple[bytes | None, ...]


class LiveReads:
    """Those of one process."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def words(self, chain: Chain, registry: Registry, reads: Sequence[FactRead]) -> LiveWords:
        """`ChainError` where the nodes do not say it in time."""
        if not self._places.acquire(blocking=False):
            raise TooManyReads
        try:
            with place_to_wait() as there_is_one:
                if not there_is_one:
                    raise TooManyReads
                return _read(chain, registry, reads)
        finally:
            self._places.release()


def _read(chain: Chain, registry: Registry, reads: Sequence[FactRead]) -> LiveWords:
    until = time.monotonic() + DEADLINE
    with closing(Destination(chain, until=until)) as destination:
        block = destination.head().number
        facts = RegistryFacts(destination, registry)
        return LiveWords(block, tuple(facts.words(reads, block)))
