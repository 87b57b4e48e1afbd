"""The embedded engine: threads that look for work until they are told to stop."""

import logging
import threading
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, close_old_connections

from queries.engines.alarm import Alarm
from queries.pipeline.chains import Chains
from queries.pipeline.leases import next_look
from queries.pipeline.worker import work_once

log = logging.getLogger("tacitus.prover")

LOOKS_EVERY = 0.25  # seconds, where nothing is known to be due sooner and nobody else wakes us
AFTER_A_FAULT = 2.0


def run(
    new_chains: Callable[[], Chains], threads: int, alarm: Alarm, looks_every: float = LOOKS_EVERY
) -> list[threading.Thread]:
    """Begin to work, until the alarm is stopped; what is in hand then is finished."""
    workers = [
        threading.Thread(
            target=_work, args=(new_chains, alarm, looks_every), name=f"prover-{number}"
        )
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    return workers


def _work(new_chains: Callable[[], Chains], alarm: Alarm, looks_every: float) -> None:
    chains = new_chains()
    while not alarm.stopped:
        heard = alarm.heard()
        try:
            if not work_once(chains):
                due = next_look()
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
