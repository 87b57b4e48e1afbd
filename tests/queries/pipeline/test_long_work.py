"""Of the threads of a prover one is left to those who ask for little."""

import threading
from collections.abc import Callable

import pytest

from queries.pipeline.long_work import LONG, LongWork

pytestmark = pytest.mark.no_database


def _elsewhere(what: Callable[[], bool]) -> bool:
    """In another thread."""
    told: list[bool] = []
    thread = threading.Thread(target=lambda: told.append(what()))
    thread.start()
    thread.join()
    return told[0]


def test_all_threads_but_one_may_begin_on_much_and_each_on_little() -> None:
    work = LongWork(2)
    assert work.may_begin(LONG + 1)
    assert work.may_begin(LONG + 1)  # what goes together with it
    assert not _elsewhere(lambda: work.may_begin(LONG + 1))
    assert _elsewhere(lambda: work.may_begin(LONG))
    work.end()
    work.end()
    assert _elsewhere(lambda: work.may_begin(LONG + 1))


def test_one_that_has_little_in_hand_gives_no_place_back() -> None:
    work = LongWork(2)
    assert work.may_begin(LONG + 1)

    def small() -> bool:
        work.may_begin(LONG)
        work.end()
        return work.may_begin(LONG + 1)

    assert not _elsewhere(small)


@pytest.mark.parametrize("threads", [1, 2])
def test_where_there_is_one_thread_it_takes_all(threads: int) -> None:
    work = LongWork(threads)
    for _ in range(3):
        assert work.may_begin(LONG + 1)
        work.end()
