"""What happens unless something ends first, all looked after by one thread."""

import os
import threading
import time

import pytest

from queries.chain import deadlines

pytestmark = pytest.mark.no_database

SOON, LATE, PATIENCE = 0.05, 0.2, 10


@pytest.fixture
def told() -> list[str]:
    return []


def _wait_for(told: list[str], count: int) -> None:
    until = time.monotonic() + PATIENCE
    while len(told) < count and time.monotonic() < until:
        time.sleep(0.01)


def test_it_happens_in_time_and_once_the_sooner_one_first(told: list[str]) -> None:
    begin = time.monotonic()
    deadlines.after(LATE, lambda: told.append("late"))
    deadlines.after(SOON, lambda: told.append("soon"))  # while the thread sleeps until the other
    _wait_for(told, 2)
    assert told == ["soon", "late"]
    assert time.monotonic() >= begin + LATE
    time.sleep(LATE)
    assert told == ["soon", "late"]


def test_what_was_cancelled_does_not_happen_and_holds_nothing(told: list[str]) -> None:
    kept = deadlines.after(LATE, lambda: told.append("kept"))
    for _ in range(100):
        deadlines.after(SOON, lambda: told.append("cancelled")).cancel()
    assert deadlines._deadlines._open == {kept}
    _wait_for(told, 1)
    kept.cancel()  # when it is over: nothing
    assert told == ["kept"]


def test_however_many_there_are_it_is_one_thread() -> None:
    before = threading.active_count()
    many = [deadlines.after(PATIENCE, lambda: None) for _ in range(500)]
    assert threading.active_count() <= before + 1
    for each in many:
        each.cancel()


def test_a_fault_keeps_no_other_one_from_happening(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(deadlines.log, "exception", logged.append)
    deadlines.after(SOON, lambda: 1 // 0)
    deadlines.after(SOON, lambda: told.append("all the same"))
    _wait_for(told, 1)
    assert told == ["all the same"]
    assert logged == ["A fault of ours, at the end of a time."]


def test_one_that_never_comes_is_no_fault(told: list[str]) -> None:
    never = deadlines.after(float("inf"), lambda: told.append("never"))
    deadlines.after(SOON, lambda: told.append("soon"))
    _wait_for(told, 1)
    assert told == ["soon"]
    never.cancel()


def test_a_forked_process_has_a_thread_of_its_own() -> None:
    """Celery's workers are forked from one that may have asked a node already."""
    deadlines.after(0, lambda: None)
    child = os.fork()
    if child == 0:
        happened = threading.Event()
        deadlines.after(SOON, happened.set)
        os._exit(0 if happened.wait(PATIENCE) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
