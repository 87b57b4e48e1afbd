"""What a process and those that it started have used, and all of them, as Linux tells it."""

import os
from collections.abc import Iterator
from pathlib import Path

from explorer.bench.rows import BenchFailed

PROC = Path("/proc")
NO_PROC = "What a process uses is read from /proc, and it is not there."
# Of what stands behind the name in /proc/PID/stat, whose third field is the state.
PARENT, USER_TICKS, SYSTEM_TICKS, PAGES = 1, 11, 12, 21
# Of the first line of /proc/stat, the places of what a processor does not work for.
IDLE, WAITING_FOR_DISK = 3, 4


def cpu_seconds(process: int) -> float:
    """Its processor time so far, with that of its children that are there."""
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(int(each[USER_TICKS]) + int(each[SYSTEM_TICKS]) for each in _family(process)) / ticks


def processors_busy() -> tuple[int, int]:
    """Ticks that this machine's processors have worked so far, and all that they had."""
    try:
        line, *_ = (PROC / "stat").read_text().splitlines()
    except OSError:
        raise BenchFailed(NO_PROC) from None
    ticks = [int(each) for each in line.split()[1:9]]  # guests are counted in the first two
    return sum(ticks) - ticks[IDLE] - ticks[WAITING_FOR_DISK], sum(ticks)


def resident_bytes(process: int) -> int:
    """The memory that it and its children hold; what they share counts for each."""
    return sum(int(each[PAGES]) for each in _family(process)) * os.sysconf("SC_PAGE_SIZE")


def _family(process: int) -> Iterator[list[str]]:
    everyone = dict(_everyone())
    if process not in everyone:
        raise BenchFailed(NO_PROC)
    wanted = [process]
    for each in wanted:
        yield everyone[each]
        wanted += [other for other, told in everyone.items() if int(told[PARENT]) == each]


def _everyone() -> Iterator[tuple[int, list[str]]]:
    for folder in PROC.glob("[0-9]*"):
        try:
            told = (folder / "stat").read_text()
        except OSError:
            continue  # it has ended meanwhile
        yield int(folder.name), told.rpartition(")")[2].split()
