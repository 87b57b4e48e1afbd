"""What everyone on the machine sees of the processes that a test starts, while they run."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

EVERY = 0.1  # seconds


@contextmanager
def processes_watched() -> Iterator[set[str]]:
    """How each was called, its words with zeros between; complete when the block has ended."""
    seen: set[str] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(EVERY):
            seen.update(_called(os.getpid()))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def _called(parent: int) -> Iterator[str]:
    """Those that it started, and those that they did."""
    for task in Path(f"/proc/{parent}/task").glob("*"):
        with suppress(OSError):  # it has just ended
            for child in (task / "children").read_text().split():
                yield Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
                yield from _called(int(child))
