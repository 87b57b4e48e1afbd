"""The embedded engine: threads that poll for work until they are stopped."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from django.db import close_old_connections, connections

from accounts.database_state import OUTAGE_ERRORS, describe_outage
from queries.engines import POST, PROVE
from queries.engines.alarm import Alarm
from queries.frames import in_large_frame
from queries.prover.handlers import seconds_until_due, work_once
from queries.prover.watch import Watch
from queries.transactions.context import ProverContext

log = logging.getLogger("tacitus.prover")

# Seconds.
POLL_SECONDS = 0.1
PAUSE_AFTER_ERROR = 2.0
WEBHOOK_POLL_INTERVAL = 1.0
MAX_WATCH_PAUSE = 0.5  # so that feeds run soon
WEBHOOKS_AT_ONCE = 4


def run(
    new_context: Callable[[], ProverContext],
    threads: int,
    alarm: Alarm,
    poll_interval: float = POLL_SECONDS,
) -> list[threading.Thread]:
    """Start the threads. When the alarm is stopped, they finish their work and end.

    Webhooks have threads of their own, because receivers may be slow. One thread of each kind polls
    at a time: provers at this interval, or when something is due or the alarm rings.
    """
    limits = new_context().limits
    prover_lock, webhook_lock = threading.Lock(), threading.Lock()

    def prove() -> None:
        _poll_and_work(PROVE, new_context(), alarm, poll_interval, prover_lock)

    def post() -> None:
        _poll_and_work(POST, new_context(), alarm, WEBHOOK_POLL_INTERVAL, webhook_lock)

    def watch() -> None:
        context = new_context()
        watch = Watch(context, lambda: alarm.stopped)
        while not alarm.stopped:
            with log_errors(alarm.sleep):
                watch.poll_once()
                alarm.sleep(min(limits.poll_interval / 8, MAX_WATCH_PAUSE))
        context.close()

    targets = {f"prover-{n}": prove for n in range(threads)}
    targets |= {f"webhooks-{n}": post for n in range(WEBHOOKS_AT_ONCE)}
    targets["watch"] = watch
    workers = [
        threading.Thread(target=in_large_frame(target), name=name)
        for name, target in targets.items()
    ]
    for worker in workers:
        worker.start()
    return workers


def _poll_and_work(
    task: str, context: ProverContext, alarm: Alarm, poll_interval: float, lock: threading.Lock
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
        if not lock.acquire(timeout=poll_interval):
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
                alarm.sleep(poll_interval if due is None else min(due, poll_interval), ring_count)
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
