"""A thread of each prover is kept for those who ask for little.

All that a batch may ask for of one block is one piece of work, which takes many seconds. Two of
these would have both threads that a prover has, and everybody else would wait for them.
"""

import threading

LONG = 200  # facts


class LongWork:
    """What threads of one process have in hand of it; where there is one alone, it takes all."""

    def __init__(self, threads: int = 1) -> None:
        self._places = threading.BoundedSemaphore(max(threads - 1, 1))
        self._mine = threading.local()

    def may_begin(self, facts: int, *, beside_others: bool = False) -> bool:
        """On so many, in this thread; a place is held until `end`."""
        if facts <= LONG:
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
