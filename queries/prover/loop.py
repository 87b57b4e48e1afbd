"""The embedded engine: threads that poll for work until they are stopped."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from queries.database.clock import shared_now
from queries.database.leases import free
from queries.engines.alarm import Alarm
from queries.models import Batch, BlockJob, Leased
from queries.prover.context import Chains
from queries.prover.watch import Watch
from queries.prover.worker import OnClaim, deliver_once, work_once

log = logging.getLogger("tacitus.prover")

# Seconds.
AFTER_A_FAULT = 2.0
DELIVERS_EVERY = 1.0
WEBHOOKS_AT_ONCE = 4


def run(
    new_chains: Callable[[], Chains], threads: int, alarm: Alarm, looks_every: float
) -> list[threading.Thread]:
    """Begin to work, until the alarm is stopped; what is in hand then is finished.

    Provers look every `looks_every` seconds, or when something is due or the alarm rings.
    Webhooks have threads of their own, because their receivers may be slow. Of each kind one thread
    looks at a time.
    """
    limits = new_chains().routes.limits
    provers, senders = threading.Lock(), threading.Lock()
    unchanged: dict[int, tuple[bytes, float]] = {}

    def prove() -> None:
        once = partial(work_once, replace(new_chains(), unchanged=unchanged))
        _work(once, lambda: next_look(Batch, BlockJob), alarm, looks_every, provers)

    def deliver() -> None:
        _work(partial(deliver_once, limits), lambda: None, alarm, DELIVERS_EVERY, senders)

    def watch() -> None:
        chains = new_chains()
        watch = Watch(chains, lambda: alarm.stopped)
        while not alarm.stopped:
            with _outlived(alarm):
                watch.once()
                alarm.sleep(limits.poll_interval / 8)
        chains.close()

    named = {f"prover-{each}": prove for each in range(threads)}
    named |= {f"webhooks-{each}": deliver for each in range(WEBHOOKS_AT_ONCE)}
    named["watch"] = watch
    workers = [threading.Thread(target=target, name=name) for name, target in named.items()]
    for worker in workers:
        worker.start()
    return workers


def next_look(*kinds: type[Leased]) -> float | None:
    """Seconds until something of these kinds is due that no worker has in hand, or None."""
    now = shared_now()
    seconds: list[float] = []
    for kind in kinds:
        rows = kind._default_manager.filter(free(now), look_again__isnull=False)  # noqa: SLF001
        due = rows.order_by("look_again").values_list("look_again", flat=True).first()
        if due:
            seconds.append((due - now).total_seconds())
    return min(seconds, default=None)


def _work(
    once: Callable[[OnClaim], bool],
    next_one: Callable[[], float | None],
    alarm: Alarm,
    looks_every: float,
    looking: threading.Lock,
) -> None:
    """Wait to be the thread that is `looking`, look until something is found, and do that.

    The next thread looks as soon as it is found. One that waits has no database connection.
    """
    is_looking = False

    def found() -> None:
        nonlocal is_looking
        if is_looking:
            is_looking = False
            looking.release()

    while not alarm.stopped:
        if not looking.acquire(timeout=looks_every):
            connections.close_all()
            looking.acquire()
        is_looking = True
        with ExitStack() as turn, _outlived(alarm):
            turn.callback(found)
            while is_looking and not alarm.stopped:
                heard = alarm.heard()
                if once(found):
                    break
                due = next_one()
                pause = looks_every if due is None else min(max(due, 0.01), looks_every)
                alarm.sleep(pause, heard)
                close_old_connections()
        alarm.ring()  # what came of it may be due before the thread that sleeps would look
    connections.close_all()


@contextmanager
def _outlived(alarm: Alarm) -> Iterator[None]:
    """What goes wrong inside is logged: a thread that ended would leave a prover without it."""
    try:
        yield
    except (OperationalError, InterfaceError) as fault:
        # The database is gone, locked or full: a traceback of our code would not help.
        log.error("The database cannot be used: %s", " ".join(str(fault).split()))  # noqa: TRY400
        alarm.sleep(AFTER_A_FAULT)
    except Exception:
        log.exception("A fault of ours, beside any piece of work.")
        alarm.sleep(AFTER_A_FAULT)
    finally:
        close_old_connections()
