"""The Celery engine: tasks that do what the threads of `loop` do.

A task that claims rows sends the next task for the time when another row is due. A task that finds
none sends nothing, so that messages do not multiply. A task that fails is sent again after a pause.
"""

import math
import sys
import threading
import time
from functools import cache, partial
from typing import Any

from django.core.management.base import CommandError
from django.db import Error as DatabaseError
from django.db import connections

from queries.chain import SignerUnusableError
from queries.config.routes_file import RoutesFileError
from queries.database.handler import WorkContext
from queries.engines import POST, PROVE, WATCH
from queries.engines.celery import PROVING, app, send, worker_init
from queries.frames import in_large_frame
from queries.planning.readers import ChainReaders
from queries.prover.handlers import HANDLERS, seconds_until_due, work_once
from queries.prover.loop import log_errors
from queries.prover.start import prover_routes, start_prover
from queries.transactions.context import ProverContext

# Seconds. Tasks end soon, so that a worker can stop and all kinds of tasks get their turn.
TASK_SECONDS = 1.0
MAX_COUNTDOWN_SECONDS = 10.0  # beat's sweeps find what is due later

context_factory = cache(start_prover)  # once per worker: forked processes inherit it
routes = cache(prover_routes)
thread = threading.local()
quiet_until: dict[str, float] = {}  # by task, after one was sent because of an error


@worker_init.connect  # type: ignore[untyped-decorator]
def prepare(sender: Any, **_: object) -> None:
    """End a worker that cannot work, with a sentence. One that only posts needs no signer."""
    try:
        (context_factory if PROVING in sender.app.amqp.queues.consume_from else routes)()
    except (CommandError, RoutesFileError, SignerUnusableError, DatabaseError) as error:
        sys.exit(f"Tacitus cannot start. {error}")
    connections.close_all()


@app.task(name=PROVE)  # type: ignore[untyped-decorator]
def prove() -> None:
    _work(PROVE, _context())


@app.task(name=POST)  # type: ignore[untyped-decorator]
def post() -> None:
    _work(POST, ChainReaders(routes()))


@app.task(name="tacitus.deliver")  # type: ignore[untyped-decorator]
def post_by_former_name() -> None:
    """For messages that a queue still holds after an upgrade."""
    post()


@app.task(name=WATCH)  # type: ignore[untyped-decorator]
def watch() -> None:
    _work(WATCH, _context())


def _context() -> ProverContext:
    """The context of this thread, with its connections to nodes."""
    if not hasattr(thread, "context"):
        thread.context = context_factory()()
    context: ProverContext = thread.context
    return context


@in_large_frame
def _work(task: str, context: WorkContext) -> None:
    """Work on due rows until there are none, or another task may go on."""
    end, next_task_at = time.monotonic() + TASK_SECONDS, math.inf

    def send_next_task() -> None:
        nonlocal next_task_at
        next_task_at = _send_if_earlier(next_task_at, task, context)

    has_worked = is_over = False
    with log_errors(partial(_send_again, task)):
        busy_tasks = {task, *_due_tasks(context)}  # before a row is claimed: this may fail
        while not is_over and work_once(task, context, send_next_task):
            has_worked, is_over = True, time.monotonic() > end
        if has_worked:
            # While rows are due, one message a task: they would multiply. Another task is sent
            # only if this one has made the first of its rows due.
            _send_if_earlier(next_task_at if is_over else math.inf, task, context)
            for other in set(_due_tasks(context)) - busy_tasks:
                send(other)


def _due_tasks(context: WorkContext) -> list[str]:
    """The tasks that have rows due now."""
    times = {task: seconds_until_due(task, context) for task in HANDLERS}
    return [task for task, seconds in times.items() if seconds is not None and seconds <= 0]


def _send_again(task: str, seconds: float) -> None:
    """Send the task for after this pause, but only once in half of it: in an outage beat's messages
    fail too, and would multiply.
    """
    now = time.monotonic()
    if now >= quiet_until.get(task, 0.0):
        quiet_until[task] = now + seconds / 2
        send(task, seconds)


def _send_if_earlier(next_task_at: float, task: str, context: WorkContext) -> float:
    """Send the task for when its next row is due, unless one was sent for an earlier time.

    Returns the earliest time.
    """
    seconds = seconds_until_due(task, context)
    due_at = time.monotonic() + max(seconds or 0, 0)
    if seconds is None or seconds > MAX_COUNTDOWN_SECONDS or due_at >= next_task_at:
        return next_task_at
    send(task, max(seconds, 0))
    return due_at
