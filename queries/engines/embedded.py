"""The embedded engine: threads that look for work until they are told to stop."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from queries.engines.alarm import Alarm
from queries.models import Batch, BlockJob, WebhookTurn
from queries.pipeline.chains import Chains
from queries.pipeline.leases import next_look, next_look_at
from queries.pipeline.long_work import LongWork
from queries.pipeline.watching import Watch
from queries.pipeline.worker import deliver_once, look_at_what_hangs, work_once

log = logging.getLogger("tacitus.prover")

LOOKS_EVERY = 0.25  # seconds, where nothing is known to be due sooner and nobody else wakes us
AFTER_A_FAULT = 2.0
WEBHOOKS_AT_ONCE = 4  # of as many accounts
WATCHES_EVERY = 5.0


def run(
    new_chains: Callable[[], Chains], threads: int, alarm: Alarm, looks_every: float = LOOKS_EVERY
) -> list[threading.Thread]:
    """Begin to work, until the alarm is stopped; what is in hand then is finished.

    Webhooks have threads of their own, because their receivers may be slow; and one is for what
    nodes hang for.
    """
    looking = threading.Lock()
    workers = [
        threading.Thread(
            target=_prove, args=(new_chains, alarm, looks_every), name=f"prover-{each}"
        )
        for each in range(threads)
    ]
    workers.append(
        threading.Thread(
            target=_have_patience, args=(new_chains, alarm, looks_every), name="patient"
        )
    )
    workers += [
        threading.Thread(
            target=_deliver, args=(looking, alarm, looks_every), name=f"webhooks-{each}"
        )
        for each in range(WEBHOOKS_AT_ONCE)
    ]
    workers.append(threading.Thread(target=_watch, args=(new_chains, alarm), name="watch"))
    for worker in workers:
        worker.start()
    return workers


def _prove(new_chains: Callable[[], Chains], alarm: Alarm, looks_every: float) -> None:
    """All but what nodes hang for."""
    chains = new_chains()
    chains.leaves_what_hangs = True

    def next_one() -> float | None:
        return next_look(Batch, BlockJob, without=chains.left_out)

    _work(lambda: work_once(chains), next_one, alarm, looks_every)


def _have_patience(new_chains: Callable[[], Chains], alarm: Alarm, looks_every: float) -> None:
    """With a place of its own for what is long: it would hold that of the others nearly always."""
    chains = new_chains()
    chains.long_work = LongWork()

    def next_one() -> float | None:
        return next_look_at(chains.hanging.jobs)

    _work(lambda: look_at_what_hangs(chains), next_one, alarm, looks_every)


def _deliver(looking: threading.Lock, alarm: Alarm, looks_every: float) -> None:
    """One thread at a time looks; who has found something lets the next one look meanwhile. There
    is mostly nothing, and each look takes the database as much as a piece of work does.
    """

    @contextmanager
    def meanwhile() -> Iterator[None]:
        looking.release()
        try:
            yield
        finally:
            if not looking.acquire(blocking=False):
                alarm.ring()  # whoever sleeps there looks for the next one of the same account
                looking.acquire()

    with looking:
        _work(lambda: deliver_once(meanwhile), lambda: next_look(WebhookTurn), alarm, looks_every)


def _watch(new_chains: Callable[[], Chains], alarm: Alarm) -> None:
    known = new_chains()
    watch = Watch(known.routes, known.signer, lambda: alarm.stopped)
    _work(watch.once, lambda: None, alarm, WATCHES_EVERY)
    watch.close()


def _work(
    once: Callable[[], bool],
    next_one: Callable[[], float | None],
    alarm: Alarm,
    looks_every: float,
) -> None:
    """`next_one`: in how many seconds there is something to do, if that is known."""
    while not alarm.stopped:
        heard = alarm.heard()
        try:
            if not once():
                due = next_one()
                pause = looks_every if due is None else min(max(due, 0.01), looks_every)
                alarm.sleep(pause, heard)
        except (OperationalError, InterfaceError) as fault:
            # Gone, locked or full: where in our code that was found helps nobody.
            log.error("The database cannot be used: %s", " ".join(str(fault).split()))  # noqa: TRY400
            alarm.sleep(AFTER_A_FAULT, heard)
        except Exception:
            # A thread that ended here would leave a prover that runs and does nothing.
            log.exception("A fault of ours, beside any piece of work.")
            alarm.sleep(AFTER_A_FAULT, heard)
        finally:
            close_old_connections()
    connections.close_all()
