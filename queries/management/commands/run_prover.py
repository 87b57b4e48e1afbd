"""`manage.py run_prover`: processes batches until it is stopped. Several may run."""

import signal
import sys
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections

from accounts.shared.database_state import require_migrations
from accounts.shared.wording import format_count
from queries.engines.wake import ALARM, POLL_SECONDS, listen
from queries.management.base import OperatorCommand, configured_routes, configured_signer
from queries.prover import loop
from queries.prover.context import ProverContext
from queries.webhooks.post import MAX_DELIVERY_SECONDS

MAX_THREADS = 64
# A tenth of Python's default: a thread that proves thousands of facts must not delay other threads
# after each response of a database or node.
SWITCH_SECONDS = 0.0005


class Command(OperatorCommand):
    help = "Processes batches until it is stopped. Several may run at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--threads", default="2", help="jobs at the same time (%(default)s)")

    def handle(self, **options: Any) -> None:
        threads = _parse_threads(options["threads"])
        routes = configured_routes()
        if not routes.registries:
            raise CommandError(
                "ROUTES_FILE names no registry. Run manage.py init and manage.py deploy_registry."
            )
        # Else another prover would take a job whose webhook or request to a node has not ended.
        min_lease = max(routes.limits.request_timeout, MAX_DELIVERY_SECONDS)
        if min_lease >= settings.PROVER_LEASE_SECONDS:
            raise CommandError(
                f"PROVER_LEASE_SECONDS is {settings.PROVER_LEASE_SECONDS}; a webhook or a node may "
                f"take {min_lease:g} seconds (request_timeout)."
            )
        signer = configured_signer()
        sys.setswitchinterval(SWITCH_SECONDS)
        require_migrations()
        connections.close_all()  # this thread does not use the database again
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ALARM.stop())
        workers = loop.run(partial(ProverContext, routes, signer), threads, ALARM, POLL_SECONDS)
        count = format_count(len(routes.registries), "route")
        self.stdout.write(f"Proving on {count} as {signer.address} (Ctrl-C ends it)")
        self.stdout.flush()
        try:
            listen()
        finally:
            # Also after an exception, because running threads would keep the process alive.
            ALARM.stop()
            for worker in workers:
                worker.join()
        self.stdout.write("The prover has stopped. Unfinished jobs stay in the queue.")


def _parse_threads(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= MAX_THREADS:
        return int(text)
    raise CommandError(f"--threads is {text!r}; use a whole number from 1 to {MAX_THREADS}.")
