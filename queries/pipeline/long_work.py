"""A thread of each prover is kept for those who ask for little, of nodes that answer.

All that a batch may ask for of one block is one piece of work, which takes many seconds, and so is
any of a block for whose proofs a node hangs. Two of these would have both threads that a prover
has, and everybody else would wait for them.
"""

import threading
import time

LONG = 200  # facts
# Seconds: who fails in less, or failed so before, has hardly hung. Of each job by itself: one block
# whose proofs no node gives says nothing of the others of its route.
HANGS, HUNG_FOR = 4.0, 300.0
MANY = 1_000


class LongWork:
    """What threads of one process have in hand of it; where there is one alone, it takes all."""

    def __init__(self, threads: int = 1) -> None:
        self._places = threading.BoundedSemaphore(max(threads - 1, 1))
        self._mine = threading.local()
        self._hangs_until: dict[int, float] = {}
        self._lock = threading.Lock()

    def failed(self, job: int, took: float) -> None:
        """Because nodes did not answer."""
        if took <= HANGS:
            return
        now = time.monotonic()
        with self._lock:
            if len(self._hangs_until) > MANY:
                self._hangs_until = {
                    each: until for each, until in self._hangs_until.items() if now < until
                }
            self._hangs_until[job] = now + HUNG_FOR

    def may_begin(self, facts: int, job: int, *, beside_others: bool = False) -> bool:
        """On so many, in this thread; a place is held until `end`."""
        with self._lock:
            hangs = time.monotonic() < self._hangs_until.get(job, 0.0)
        if facts <= LONG and not hangs:
            return True
        if beside_others or self.is_held:
            return self.is_held and not beside_others
        self._mine.has_place = self._places.acquire(blocking=False)
        return self.is_held

    def end(self) -> None:
        if self.is_held:
            self._mine.has_place = False
            self._places.release()

    @property
    def is_held(self) -> bool:
        """By this thread, which gathers no other work then."""
        return getattr(self._mine, "has_place", False)
