"""What wakes sleeping workers of this process."""

import threading


class Alarm:
    """Rung once, it wakes every worker that sleeps; one that works looks again by itself."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rung = 0
        self.stopped = False

    def ring(self) -> None:
        with self._changed:
            self._rung += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """For good: each thread that wakes finds `stopped` set. Safe in signal handlers."""
        self.stopped = True
        threading.Thread(target=self.ring).start()

    def heard(self) -> int:
        """Ask before looking: what rings from then on is not slept through."""
        with self._changed:
            return self._rung

    def sleep(self, seconds: float, heard: int | None = None) -> None:
        """Until it rings again; with nothing `heard`, until it is stopped."""
        with self._changed:
            self._changed.wait_for(
                lambda: self.stopped or (heard is not None and self._rung != heard), seconds
            )

    def until_stopped(self) -> None:
        """A second at a time: an order that comes as the main thread goes to wait, or by another
        thread, is handled only when that wait is over.
        """
        while not self.stopped:
            self.sleep(1)
