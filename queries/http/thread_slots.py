"""How many threads of a web process may wait for nodes, or build proofs, at the same time.

A web process has few threads. Sign-in with a contract wallet, checks of a fact and estimates wait
for nodes; proofs take seconds to build. At least a quarter of the threads is left for other
requests if there are two or more, and proofs leave a place for requests that wait for nodes.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_held = 0
_limit = 3  # of the four threads that a web process has by default


def set_thread_count(threads: int) -> None:
    """Limit the places by the number of threads; the web server calls it before it starts any."""
    global _limit  # noqa: PLW0603
    _limit = max(threads * 3 // 4, 1)


@contextmanager
def place_to_wait(*, for_proof: bool = False) -> Iterator[bool]:
    """Whether a place was free; for a proof, one more than it takes."""
    global _held  # noqa: PLW0603
    with _lock:
        taken = _held < (max(_limit - 1, 1) if for_proof else _limit)
        _held += taken
    try:
        yield taken
    finally:
        with _lock:
            _held -= taken
