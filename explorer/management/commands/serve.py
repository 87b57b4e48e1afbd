"""The web server, ready for production: `manage.py serve`."""

import copy
import errno
import os
import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from granian.constants import HTTPModes, Interfaces
from granian.server import Server


class Command(BaseCommand):
    help = "Serves the explorer and the API over HTTP until it is told to stop."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen at (%(default)s)"
        )
        parser.add_argument("--port", type=int, default=8000, help="port (%(default)s)")
        parser.add_argument(
            "--workers",
            type=int,
            default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2,
            help="processes (%(default)s, one a processor)",
        )
        parser.add_argument(
            "--threads",
            type=int,
            default=4,
            help="requests that one process answers at once (%(default)s)",
        )

    def handle(self, **options: Any) -> None:
        host, port = options["host"], options["port"]
        if not settings.DEVELOPMENT and not (settings.STATIC_ROOT / "staticfiles.json").exists():
            raise CommandError("Static files are not collected. Run: manage.py collectstatic")
        _refuse_a_taken_port(host, port)
        Server(
            "explorer.wsgi:application",
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            http=HTTPModes.http1,
            workers=options["workers"],
            blocking_threads=options["threads"],
            log_dictconfig=copy.deepcopy(settings.LOGGING),
            respawn_failed_workers=True,
            workers_kill_timeout=30,
            websockets=False,
        ).serve()


def _refuse_a_taken_port(host: str, port: int) -> None:
    """Granian shares a taken port between two services, and neither would notice."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OverflowError as error:
        raise CommandError(f"{port} is no port; take one from 1 to 65535.") from error
    except OSError as error:
        reason = "it is taken" if error.errno == errno.EADDRINUSE else error.strerror
        raise CommandError(
            f"Cannot listen at {host}:{port}: {reason}. Try another --port."
        ) from error
