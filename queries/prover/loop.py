"""The embedded engine: threads that poll for work until they are stopped."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from django.db import close_old_connections, connections

from accounts.database_state import OUTAGE_ERRORS, describe_outage
from queries.engines.alarm import Alarm
from queries.frames import in_large_frame
from queries.prover.handlers import THREADS, seconds_until_due, work_once
from queries.transactions.context import ProverContext

log = logging.getLogger("tacitus.prover")

PAUSE_AFTER_ERROR = 2.0  # seconds


def run(
    new_context: Callable[[], ProverContext], threads: int, alarm: Alarm
) -> list[threading.Thread]:
    """Start the threads. When the alarm is stopped, they finish their work and end."""
    workers = []
    for task, kind in THREADS.items():
        work = partial(_work, task, new_context, alarm, kind.poll_seconds, threading.Lock())
        workers += [
            threading.Thread(target=in_large_frame(work), name=f"{kind.name}-{number}")
            for number in range(threads if kind.count is None else kind.count)
        ]
    for worker in workers:
        worker.start()
    return workers


def _work(
    task: str,
    new_context: Callable[[], ProverContext],
    alarm: Alarm,
    poll_seconds: float,
    lock: threading.Lock,
) -> None:
    context = new_context()
    context.is_stopped = lambda: alarm.stopped
    _poll_and_work(task, context, alarm, poll_seconds, lock)
    context.close()


def _poll_and_work(
    task: str, context: ProverContext, alarm: Alarm, poll_seconds: float, lock: threading.Lock
) -> None:
    """Take the lock, poll until a row is claimed, release the lock and work on the row.

    Threads that wait for the lock have no database connection.
    """
    has_lock = False

    def on_claim() -> None:
        nonlocal has_lock
        if has_lock:
            has_lock = False
            lock.release()

    while not alarm.stopped:
        if not lock.acquire(timeout=poll_seconds):
            connections.close_all()
            lock.acquire()
        has_lock = True
        with ExitStack() as stack, log_errors(alarm.sleep):
            stack.callback(on_claim)
            while has_lock and not alarm.stopped:
                ring_count = alarm.ring_count
                due = seconds_until_due(task, context)
                if due is not None and due <= 0:
                    if work_once(task, context, on_claim):
                        break
                    due = None  # another worker has claimed it
                alarm.sleep(poll_seconds if due is None else min(due, poll_seconds), ring_count)
                close_old_connections()
        alarm.ring()  # its result may be due before the polling thread wakes
    connections.close_all()


@contextmanager
def log_errors(pause: Callable[[float], object] = lambda _: None) -> Iterator[None]:
    """Log what fails inside, so that the thread goes on after a pause."""
    try:
        yield
    except OUTAGE_ERRORS as error:
        log.error(describe_outage(error))  # noqa: TRY400
        pause(PAUSE_AFTER_ERROR)
    except Exception:
        log.exception("Unexpected error in the worker loop.")
        pause(PAUSE_AFTER_ERROR)
    finally:
        close_old_connections()
