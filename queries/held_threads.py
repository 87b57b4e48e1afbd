"""How many threads of a web process may wait for nodes, or build proofs, at the same time.

A web process has few threads. Sign-in with a contract wallet, checks of a fact and estimates wait
for nodes; proofs take seconds to build. One thread is always left for other requests, and proofs
leave one place for requests that wait for nodes.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 3  # of the four threads that a web process has by default

_lock = threading.Lock()
_held = 0


@contextmanager
def place_to_wait(most: int = AT_ONCE) -> Iterator[bool]:
    """Whether fewer than `most` threads were held."""
    global _held  # noqa: PLW0603
    with _lock:
        taken = _held < most
        _held += taken
    try:
        yield taken
    finally:
        with _lock:
            _held -= taken
