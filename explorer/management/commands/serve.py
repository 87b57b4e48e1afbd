"""The web server, ready for production: `manage.py serve`."""

import copy
import errno
import os
import socket
import threading
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server import Server

from explorer.serving_process import application

GREATEST_PORT = 65_535
MANY = 1_000


class Command(BaseCommand):
    help = "Serves the explorer and the API over HTTP until it is told to stop."

    def add_arguments(self, parser: ArgumentParser) -> None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen at (%(default)s)"
        )
        # Taken as text: argparse answers a wrong number with its usage, we with a sentence.
        parser.add_argument("--port", default="8000", help="port (%(default)s)")
        parser.add_argument(
            "--workers",
            default=str(processors),
            help="processes (%(default)s, one a processor)",
        )
        parser.add_argument(
            "--threads",
            default="4",
            help="requests that one process answers at once (%(default)s)",
        )

    def handle(self, **options: Any) -> None:
        port = _number("port", options["port"], GREATEST_PORT)
        workers = _number("workers", options["workers"], MANY)
        threads = _number("threads", options["threads"], MANY)
        if not settings.DEVELOPMENT:
            _refuse_what_production_lacks()
        address = _free_address(options["host"], port)
        if settings.DEVELOPMENT:
            threading.Thread(target=self._say_when_it_listens, args=address, daemon=True).start()
        Server(
            settings.WSGI_APPLICATION,
            address=address[0],
            port=port,
            interface=Interfaces.WSGI,
            http=HTTPModes.http1,
            workers=workers,
            blocking_threads=threads,
            log_level=LogLevels(settings.LOG_LEVEL.lower()),
            log_dictconfig=copy.deepcopy(settings.LOGGING),
            respawn_failed_workers=True,
            workers_kill_timeout=30,
            websockets=False,
        ).serve(target_loader=application)

    def _say_when_it_listens(self, host: str, port: int) -> None:
        while True:
            try:
                socket.create_connection((host, port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        shown = f"[{host}]" if ":" in host else host
        self.stdout.write(f"Tacitus is at http://{shown}:{port}/ (Ctrl-C ends it)")
        self.stdout.flush()


def _number(option: str, text: str, most: int) -> int:
    if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most:
        return int(text)
    raise CommandError(f"--{option} is {text!r}; take a whole number from 1 to {most}.")


def _refuse_what_production_lacks() -> None:
    if not settings.BEHIND_PROXY:
        raise CommandError(
            "This server speaks plain http, so a proxy in front of it must end TLS; with one "
            "there, set BEHIND_PROXY=1."
        )
    if not (settings.STATIC_ROOT / "staticfiles.json").exists():
        raise CommandError("Static files are not collected. Run: manage.py collectstatic")


def _free_address(host: str, port: int) -> tuple[str, int]:
    """Where to listen. Granian takes no name, and shares a taken port without a word."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "it is taken. Choose another port" if taken else getattr(error, "strerror", error)
        raise CommandError(f"Cannot listen at {host}:{port}: {reason}.") from error
    return str(address[0]), port
