"""How many threads of a process wait for nodes at once, whatever they were asked for.

A web process answers with a few threads. Sign-in with a contract wallet, checks of a fact and
estimates have bounds of their own; where all are used up by what hangs, one thread must be left
for who asks nobody.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 3  # of the four threads that a web process has if nothing else is said

_places = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def place_to_wait() -> Iterator[bool]:
    """Whether there was one."""
    taken = _places.acquire(blocking=False)
    try:
        yield taken
    finally:
        if taken:
            _places.release()
