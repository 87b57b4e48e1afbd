"""Limit how many threads of a web process wait for nodes, or build proofs, at the same time.

A web process has few threads. Sign-in with a contract wallet, checks of a fact and estimates wait
for nodes; proofs take seconds to build. At least a quarter of the threads is left for other
requests if there are two or more, and proofs leave a slot for requests that wait for nodes.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_used = 0
_limit = 3  # of the four threads that a web process has by default


def set_thread_count(threads: int) -> None:
    """Set the number of slots; the web server calls this before it starts its threads."""
    global _limit  # noqa: PLW0603
    _limit = max(threads * 3 // 4, 1)


@contextmanager
def place_to_wait(*, for_proof: bool = False) -> Iterator[bool]:
    """Take a slot, and yield whether one was free. A proof needs two free slots, and takes one."""
    global _used  # noqa: PLW0603
    with _lock:
        acquired = _used < (max(_limit - 1, 1) if for_proof else _limit)
        _used += acquired
    try:
        yield acquired
    finally:
        with _lock:
            _used -= acquired
