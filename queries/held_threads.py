"""How many threads of a web process may wait for nodes, or build proofs, at the same time.

A web process has few threads. Sign-in with a contract wallet, checks of a fact and estimates wait
for nodes; proofs take seconds to build. One thread is always left for other requests, and proofs
leave one place for requests that wait for nodes.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 3  # of the four threads that a web process has by default
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
