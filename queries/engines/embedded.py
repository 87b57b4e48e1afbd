"""The embedded engine: threads that look for work until they are told to stop."""

import logging
import threading
from collections.abc import Callable

from django.db import Error as DatabaseFault
from django.db import close_old_connections

from queries.pipeline.chains import Chains
from queries.pipeline.leases import next_look
from queries.pipeline.worker import work_once

log = logging.getLogger("tacitus.prover")

LOOKS_EVERY = 0.25  # seconds, where nothing is known to be due sooner
AFTER_A_FAULT = 2.0


def run(new_chains: Callable[[], Chains], threads: int, stop: threading.Event) -> None:
    """Work until `stop`; what is in hand then is finished or left to its lease."""
    workers = [
        threading.Thread(target=_work, args=(new_chains, stop), name=f"prover-{number}")
        for number in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _work(new_chains: Callable[[], Chains], stop: threading.Event) -> None:
    chains = new_chains()
    while not stop.is_set():
        try:
            if not work_once(chains):
                due = next_look()
                stop.wait(LOOKS_EVERY if due is None else min(max(due, 0.01), LOOKS_EVERY))
        except DatabaseFault:
            log.exception("The database does not answer.")
            stop.wait(AFTER_A_FAULT)
        finally:
            close_old_connections()
