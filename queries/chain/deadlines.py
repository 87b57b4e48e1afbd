"""What happens unless something ends first: one thread looks after all of it.

A thread for each would be started, and waited for, twice with every request to a node.
"""

import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import TIMEOUT_MAX, Condition, Thread

log = logging.getLogger("tacitus.prover")


@dataclass(frozen=True, slots=True, eq=False)
class Deadline:
    """What then happens may not wait for anything: all others would wait with it."""

    at: float  # by the monotonic clock
    then: Callable[[], object]

    def cancel(self) -> None:
        _deadlines.forget(self)


class _Deadlines:
    """Its thread begins with the first of them, and lives as long as the process."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._open: set[Deadline] = set()
        self._sleeps_until = math.inf
        self._thread: Thread | None = None

    def add(self, deadline: Deadline) -> None:
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                thread = Thread(target=self._watch, name="deadlines", daemon=True)
                thread.start()
                self._thread = thread
            self._open.add(deadline)
            if deadline.at < self._sleeps_until:
                self._changed.notify()

    def forget(self, deadline: Deadline) -> None:
        with self._changed:
            self._open.discard(deadline)

    def _watch(self) -> None:
        while True:
            for each in self._wait():
                try:
                    each.then()
                except Exception:
                    log.exception("A fault of ours, at the end of a time.")

    def _wait(self) -> list[Deadline]:
        """Those that are over, once there are any. For one that was cancelled it wakes in vain."""
        with self._changed:
            while True:
                now = time.monotonic()
                # A copy: what is collected as garbage meanwhile may cancel one, in this thread.
                over = [each for each in tuple(self._open) if each.at <= now]
                if over:
                    self._open.difference_update(over)
                    return over
                self._sleeps_until = min((each.at for each in tuple(self._open)), default=math.inf)
                self._changed.wait(min(self._sleeps_until - now, TIMEOUT_MAX))


_deadlines = _Deadlines()


def _begin_anew() -> None:
    """In a process that was forked, which has none of the threads."""
    global _deadlines  # noqa: PLW0603
    _deadlines = _Deadlines()


os.register_at_fork(after_in_child=_begin_anew)


def after(seconds: float, then: Callable[[], object]) -> Deadline:
    """Unless it is cancelled before."""
    deadline = Deadline(time.monotonic() + seconds, then)
    _deadlines.add(deadline)
    return deadline
