"""Of the threads of a prover one is left to those who ask for little."""

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from queries.pipeline import long_work
from queries.pipeline.long_work import HANGS, HUNG_FOR, LONG, LongWork

pytestmark = pytest.mark.no_database
JOB, OTHER = 1, 2


def _elsewhere(what: Callable[[], bool]) -> bool:
    """In another thread."""
    told: list[bool] = []
    thread = threading.Thread(target=lambda: told.append(what()))
    thread.start()
    thread.join()
    return told[0]


def test_all_threads_but_one_may_begin_on_much_and_each_on_little() -> None:
    work = LongWork(2)
    assert work.may_begin(LONG + 1, JOB)
    assert work.may_begin(LONG + 1, JOB)  # what goes together with it
    assert not _elsewhere(lambda: work.may_begin(LONG + 1, JOB))
    assert _elsewhere(lambda: work.may_begin(LONG, JOB))
    work.end()
    work.end()
    assert _elsewhere(lambda: work.may_begin(LONG + 1, JOB))


def test_one_that_has_little_in_hand_gives_no_place_back() -> None:
    work = LongWork(2)
    assert work.may_begin(LONG + 1, JOB)

    def small() -> bool:
        work.may_begin(LONG, JOB)
        work.end()
        return work.may_begin(LONG + 1, JOB)

    assert not _elsewhere(small)


@pytest.mark.parametrize("threads", [1, 2])
def test_where_there_is_one_thread_it_takes_all(threads: int) -> None:
    work = LongWork(threads)
    for _ in range(3):
        assert work.may_begin(LONG + 1, JOB)
        work.end()


def test_what_is_asked_of_nodes_that_hang_is_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of that job alone, and not for long: they may answer by then."""
    now = [100.0]
    monkeypatch.setattr(long_work, "time", SimpleNamespace(monotonic=lambda: now[0]))
    work = LongWork(2)
    work.failed(JOB, HANGS)
    work.failed(OTHER, HANGS + 0.1)
    assert work.may_begin(1, JOB)
    assert not work.is_held
    assert work.may_begin(1, OTHER)
    assert not _elsewhere(lambda: work.may_begin(1, OTHER))
    assert _elsewhere(lambda: work.may_begin(1, JOB))
    now[0] += HUNG_FOR + 0.1
    assert _elsewhere(lambda: work.may_begin(1, OTHER))
