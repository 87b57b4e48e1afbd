"""`manage.py run_prover`: does the work, until it is told to stop. Several may run."""

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from queries.chain.signer import Signer, SignerUnusable, open_signer
from queries.engines.embedded import run
from queries.pipeline.chains import Chains
from queries.routes import Routes, RoutesUnreadable, read_routes


class Command(BaseCommand):
    help = "Proves what was asked for, until it is told to stop. Several may run at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--threads", type=int, default=2, help="jobs that are worked on at once (%(default)s)"
        )

    def handle(self, **options: Any) -> None:
        routes = _routes()
        signer = _signer()
        stop = threading.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: stop.set())
        self.stdout.write(
            f"Proving on {len(routes.registries)} "
            f"{'route' if len(routes.registries) == 1 else 'routes'} as {signer.address} "
            "(Ctrl-C ends it)"
        )
        self.stdout.flush()
        run(lambda: Chains(routes, signer), options["threads"], stop)


def _routes() -> Routes:
    try:
        routes = read_routes(settings.ROUTES_FILE)
    except RoutesUnreadable as fault:
        raise CommandError(str(fault)) from None
    if not routes.registries:
        raise CommandError(
            "There is no registry to prove to. Name chains and registries in the file that "
            "ROUTES_FILE names; manage.py deploy_registry makes one."
        )
    return routes


def _signer() -> Signer:
    try:
        return open_signer(settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD)
    except SignerUnusable as fault:
        raise CommandError(str(fault)) from None
