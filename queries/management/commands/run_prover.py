"""`tacitus run_prover`: processes batches until it is stopped. Several may run."""

import signal
from argparse import ArgumentParser
from typing import Any

from django.db import connections

from accounts.wording import format_count
from queries.engines.alarm import Alarm
from queries.management.base import OperatorCommand, whole_number
from queries.prover import loop
from queries.prover.start import start_prover

MAX_THREADS = 64


class Command(OperatorCommand):
    help = "Processes batches until it is stopped. Several may run at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--threads",
            type=whole_number(MAX_THREADS),
            default=2,
            help="jobs at the same time (%(default)s)",
        )

    def handle(self, **options: Any) -> None:
        new_context = start_prover()
        connections.close_all()  # this thread does not use the database again
        context, alarm = new_context(), Alarm()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: alarm.stop())
        workers = loop.run(new_context, options["threads"], alarm)
        try:
            count = format_count(len(context.routes.registries), "route")
            self.stdout.write(f"Proving on {count} as {context.sender} (press Ctrl-C to stop)")
            self.stdout.flush()
            alarm.wait_until_stopped()
        finally:
            # Also after an exception, because running threads would keep the process alive.
            alarm.stop()
            for worker in workers:
                worker.join()
        self.stdout.write("The prover has stopped. Unfinished jobs stay in the queue.")
