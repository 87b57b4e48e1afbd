"""What processes hold of memory at most, as the system counts it."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

MOST_MEMORY = 64 * 2**20


@contextmanager
def held_by(processes: Callable[[], Sequence[int]], most: int = MOST_MEMORY) -> Iterator[None]:
    """At most so much more inside than what they hold before, where the system tells it."""
    for process in processes():
        with suppress(OSError):
            # The most that it held is what it holds now.
            Path(f"/proc/{process}/clear_refs").write_text("5")
    before = _held(processes())
    assert before or not Path("/proc/self/status").exists()
    yield
    held = _held(processes()) - before
    assert held < most, f"{held:,} bytes more than {before:,}"


def _held(processes: Sequence[int]) -> int:
    most = 0
    for process in processes:
        with suppress(OSError):
            told = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
            most += 1_024 * int(told[1]) if told else 0
    return most
