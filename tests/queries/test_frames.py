"""Large frames: no depth of the call stack slows a loop down."""

import resource
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from queries.frames import in_large_frame

pytestmark = [
    pytest.mark.no_database,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux counts page faults by thread"),
]

DEPTHS, CALLS = 200, 500
Work = Callable[[], int]


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def _leaf() -> None:
    pass


def _loop() -> int:
    """Return how many page faults the calls of a loop cause."""
    before = _page_faults()
    for _ in range(CALLS):
        _leaf()
    return _page_faults() - before


def _call_below(depth: int, work: Work) -> int:
    return _call_below(depth - 1, work) if depth else work()


def _faults_by_depth(start: Callable[[Work], int]) -> list[int]:
    faults: list[int] = []

    def measure() -> None:
        faults.extend(start(partial(_call_below, depth, _loop)) for depth in range(DEPTHS))

    (thread := threading.Thread(target=measure)).start()
    thread.join()
    return faults


def test_a_loop_below_a_large_frame_maps_no_memory_at_any_depth() -> None:
    assert max(_faults_by_depth(lambda work: work())) >= CALLS
    assert max(_faults_by_depth(in_large_frame(lambda work: work()))) < CALLS / 5
