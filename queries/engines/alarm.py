"""An alarm that wakes sleeping threads of this process."""

import threading


class Alarm:
    """Ringing wakes all threads in `sleep()`."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        # Read it before looking for work; `sleep()` then returns at once if the alarm rang since.
        self.ring_count = 0
        self.stopped = False

    def ring(self) -> None:
        with self._condition:
            self.ring_count += 1
            self._condition.notify_all()

    def stop(self) -> None:
        """Set `stopped` and wake all threads. Safe in signal handlers."""
        self.stopped = True
        threading.Thread(target=self.ring).start()

    def sleep(self, seconds: float, ring_count: int | None = None) -> None:
        """Sleep until the count differs from `ring_count`; without `ring_count`, until stopped."""
        with self._condition:
            self._condition.wait_for(
                lambda: self.stopped or ring_count not in {None, self.ring_count}, seconds
            )

    def wait_until_stopped(self) -> None:
        """Wait in steps of a second, because Python runs signal handlers only between waits."""
        while not self.stopped:
            self.sleep(1)
