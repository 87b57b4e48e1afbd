"""Chains whose nodes fail or take long are left alone for a while, by all threads of a prover.

Nodes that hang take a quarter of a minute. Were they asked for each batch that waits for them, the
threads would do nothing else, and the batches of all other chains would wait as well.
"""

import math
import threading
import time
from copy import copy
from dataclasses import dataclass

from queries.chain.errors import ChainError
from queries.chain.nodes import PASSING

LONG = 1.0  # seconds: what takes less keeps nobody waiting
# As many times as long as that took nobody is asked for those that wait, and so many seconds at
# most: they should soon see that the nodes are back.
REST, MOST_REST = 2, 30.0
# The same where nobody waits, and a look is for new blocks alone; after a fault at least so many.
# A node of another chain fails at once, and where no head was ever recorded no claim keeps workers
# from asking again. After a slow answer not so long: submitting compares with the head.
UNASKED_REST, LEAST_UNASKED_REST, MOST_UNASKED_REST = 10, 5.0, 120.0
REST_ANSWERED = 5.0


@dataclass(slots=True)
class _Failed:
    fault: ChainError
    took: float
    until: float  # by the monotonic clock


class RestingChains:
    """Those of one process."""

    def __init__(self) -> None:
        self._failed: dict[int, _Failed] = {}
        self._left_alone_until: dict[int, float] = {}
        self._is_fresh_until: dict[int, float] = {}
        self._answered: dict[int, float] = {}  # when each did last
        self._lock = threading.Lock()

    def told(self, chain: int) -> ChainError | None:
        """How it failed a moment ago, for whom it is not asked now. Once that is long ago one is
        let through to ask, and the others hear of what it finds.
        """
        now = time.monotonic()
        with self._lock:
            failed = self._failed.get(chain)
            if failed is None:
                return None
            if now >= failed.until:
                failed.until = now + failed.took
                return None
            known = copy(failed.fault)
            known.known_for = failed.until - now
            return known

    def is_left_alone(self, chain: int) -> bool:
        """By who looks at it for nobody: it has failed."""
        with self._lock:
            return time.monotonic() < self._left_alone_until.get(chain, 0.0)

    def has_slow_head(self, chain: int) -> bool:
        """Of a moment ago. Whether the node that tells it is behind is to be seen all the same."""
        with self._lock:
            return time.monotonic() < self._is_fresh_until.get(chain, 0.0)

    def failed(self, chain: int, fault: ChainError, begun: float) -> None:
        """`begun`: when it was asked, by the monotonic clock. Another may have its answer since."""
        now = time.monotonic()
        took = now - begun
        unasked = max(LEAST_UNASKED_REST, UNASKED_REST * took)
        with self._lock:
            if self._answered.get(chain, -math.inf) > begun:
                return
            self._left_alone_until[chain] = now + min(unasked, MOST_UNASKED_REST)
            self._failed.pop(chain, None)
            if took > LONG and type(fault) in PASSING:
                self._failed[chain] = _Failed(fault, took, now + min(REST * took, MOST_REST))

    def answered(self, chain: int, begun: float) -> None:
        now = time.monotonic()
        took = now - begun
        with self._lock:
            self._failed.pop(chain, None)
            self._answered[chain] = now
            self._left_alone_until.pop(chain, None)
            self._is_fresh_until[chain] = now + (REST_ANSWERED if took > LONG else 0.0)
