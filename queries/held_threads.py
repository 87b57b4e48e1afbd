"""How many threads of a process are held for seconds at once, whatever they were asked for.

A web process answers with a few threads. Sign-in with a contract wallet, checks of a fact and
estimates wait for nodes, and proofs are put together: each has a bound of its own. Where all are
used up, one thread must be left for who asks for none of them. Proofs are made for whoever asks, so
they never have all places: one is left for those who wait for nodes.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 3  # of the four threads that a web process has if nothing else is said
PROOFS_AT_ONCE = AT_ONCE - 1

_places = threading.BoundedSemaphore(AT_ONCE)
_proofs = threading.BoundedSemaphore(PROOFS_AT_ONCE)


@contextmanager
def place_to_wait() -> Iterator[bool]:
    """Whether there was one."""
    with _taken(_places) as taken:
        yield taken


@contextmanager
def place_for_a_proof() -> Iterator[bool]:
    """Whether there was one."""
    with _taken(_proofs) as may:
        if not may:
            yield False
            return
        with _taken(_places) as taken:
            yield taken


@contextmanager
def _taken(places: threading.BoundedSemaphore) -> Iterator[bool]:
    taken = places.acquire(blocking=False)
    try:
        yield taken
    finally:
        if taken:
            places.release()
