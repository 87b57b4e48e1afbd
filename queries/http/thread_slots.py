"""Limit how many threads of a web process wait for nodes, or build proofs, at the same time.

Sign-in with a contract wallet, checks of a fact and estimates wait for nodes; proofs take seconds
to build. If there are two threads or more, at least a quarter of them is left for other requests.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class _Slots:
    limit: int = 3  # of the four threads that a web process has by default
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


_slots = _Slots()


def set_thread_count(threads: int) -> None:
    """Set the number of slots; the web server calls this before it starts its threads."""
    _slots.limit = max(threads * 3 // 4, 1)


@contextmanager
def thread_slot(*, for_proof: bool = False) -> Iterator[bool]:
    """Take a slot, and yield whether one was free. Proofs leave the last slot to other requests."""
    with _slots.lock:
        acquired = _slots.count < (max(_slots.limit - 1, 1) if for_proof else _slots.limit)
        _slots.count += acquired
    try:
        yield acquired
    finally:
        with _slots.lock:
            _slots.count -= acquired
