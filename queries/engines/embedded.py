"""The embedded engine: threads that look for work until they are told to stop."""

import logging
import threading
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from queries.engines.alarm import Alarm
from queries.models import Batch, BlockJob, Leased
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.queue import free
from queries.pipeline.watch import Watch
from queries.pipeline.worker import deliver_once, work_once

log = logging.getLogger("tacitus.prover")

# Seconds.
LOOKS_EVERY = 0.25  # unless something is due sooner, or the alarm rings
LEASED_IS_DUE_IN = 0.25  # what another worker has in hand
AFTER_A_FAULT = 2.0
DELIVERS_EVERY = 1.0
WEBHOOKS_AT_ONCE = 4


def run(
    new_chains: Callable[[], Chains], threads: int, alarm: Alarm, looks_every: float = LOOKS_EVERY
) -> list[threading.Thread]:
    """Begin to work, until the alarm is stopped; what is in hand then is finished.

    Webhooks have threads of their own, because their receivers may be slow.
    """
    limits = new_chains().routes.limits

    def prove() -> None:
        chains = new_chains()
        _work(lambda: work_once(chains), lambda: next_look(Batch, BlockJob), alarm, looks_every)

    def deliver() -> None:
        _work(lambda: deliver_once(limits), lambda: None, alarm, DELIVERS_EVERY)

    def watch() -> None:
        known = new_chains()
        watch = Watch(known.routes, known.signer, lambda: alarm.stopped)
        _work(watch.once, lambda: None, alarm, watch.routes.limits.poll_interval / 8)
        watch.close()

    named = {f"prover-{each}": prove for each in range(threads)}
    named |= {f"webhooks-{each}": deliver for each in range(WEBHOOKS_AT_ONCE)}
    named["watch"] = watch
    workers = [threading.Thread(target=target, name=name) for name, target in named.items()]
    for worker in workers:
        worker.start()
    return workers


def next_look(*kinds: type[Leased]) -> float | None:
    """Seconds until something of these kinds is due, or None."""
    now = shared_now()
    seconds: list[float] = []
    for kind in kinds:
        rows = kind._default_manager.filter(look_again__isnull=False).order_by("look_again")  # noqa: SLF001
        until = rows.values_list("lease_until", flat=True).first()
        if until and until > now:  # it keeps the time at which it was due
            seconds.append(LEASED_IS_DUE_IN)
        due = rows.filter(free(now)).values_list("look_again", flat=True).first()
        if due:
            seconds.append((due - now).total_seconds())
    return min(seconds, default=None)


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
            # The database is gone, locked or full: a traceback of our code helps nobody.
            log.error("The database cannot be used: %s", " ".join(str(fault).split()))  # noqa: TRY400
            alarm.sleep(AFTER_A_FAULT, heard)
        except Exception:
            # A thread that ended here would leave a prover that runs and does nothing.
            log.exception("A fault of ours, beside any piece of work.")
            alarm.sleep(AFTER_A_FAULT, heard)
        finally:
            close_old_connections()
    connections.close_all()
