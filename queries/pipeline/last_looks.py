"""What a job was found to wait for, which is the same until its destination has another block.

What a registry holds changes with a block alone, and asking it takes a question for each fact. So
it is asked once a block, for all threads of a prover.
"""

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass

from queries.wait_reasons import Reason

# Then it is asked all the same: where blocks are rare a transaction may have to be sent again, and
# a node may be stuck at one block.
ANEW_AFTER = 2.5  # seconds


@dataclass(frozen=True, slots=True)
class Look:
    """All that these queries want was looked at."""

    queries: Collection[int]
    since: bytes  # hash of the destination's newest block, read before anything else was asked
    why: Reason | None


class LastLooks:
    """Those of one process, by job."""

    def __init__(self) -> None:
        self._looks: dict[int, tuple[float, Look]] = {}  # until when, by the monotonic clock
        self._lock = threading.Lock()

    def of(self, job: int, queries: Collection[int]) -> Look | None:
        """That of a moment ago, at all that these queries want."""
        with self._lock:
            until, look = self._looks.get(job, (0.0, None))
        same = look is not None and look.queries == queries
        return look if same and time.monotonic() < until else None

    def keep(self, job: int, look: Look) -> None:
        now = time.monotonic()
        with self._lock:
            # Jobs that another prover went on with would stay for ever.
            self._looks = {key: kept for key, kept in self._looks.items() if now < kept[0]}
            self._looks[job] = now + ANEW_AFTER, look

    def forget(self, job: int) -> None:
        with self._lock:
            self._looks.pop(job, None)
