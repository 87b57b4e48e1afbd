"""The web server, ready for production: `manage.py serve`."""

import copy
import errno
import logging
import os
import socket
import threading
import time
from argparse import ArgumentParser
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.checks.security.base import SECRET_KEY_INSECURE_PREFIX
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseFault
from django.db import connection
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from accounts.database_state import NOT_MIGRATED, is_migrated
from accounts.eip4361 import siwe
from accounts.lossy_output import outlive_a_full_disk
from explorer.logs import log_what_python_says
from explorer.serving_process import END_WITHIN, WebServer, application, settle_each_fork

log = logging.getLogger("tacitus.serve")

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
            siwe()  # loaded once for all its processes, and no visitor waits for that
        address = _free_address(options["host"], port)
        if not ip_address(address[0]).is_loopback:
            _refuse_a_key_that_everyone_knows(options["host"])
            _refuse_a_wallet_that_everyone_has(options["host"])
        outlive_a_full_disk(self)
        log_what_python_says()
        _warn_of_missing_tables()
        settle_each_fork()
        if settings.DEVELOPMENT:
            threading.Thread(target=self._say_when_it_listens, args=address, daemon=True).start()
        WebServer(
            settings.WSGI_APPLICATION,
            address=address[0],
            port=port,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            # A request's line and headers are smaller, and a proxy has them whole when it asks.
            # A worker that waits for the rest of one could not end.
            http1_settings=HTTP1Settings(max_buffer_size=32_768, header_read_timeout=5_000),
            workers=workers,
            log_level=LogLevels(settings.LOG_LEVEL.lower()),
            log_dictconfig=copy.deepcopy(settings.LOGGING),
            respawn_failed_workers=True,
            workers_kill_timeout=END_WITHIN,
            websockets=False,
        ).serve(target_loader=partial(application, threads=threads))

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


def _refuse_a_key_that_everyone_knows(host: str) -> None:
    if settings.SECRET_KEY.startswith(SECRET_KEY_INSECURE_PREFIX):
        raise CommandError(
            f"At {host} others can reach this server, and the key that development sets is known "
            "to everyone. Set SECRET_KEY, or leave --host out."
        )


def _refuse_a_wallet_that_everyone_has(host: str) -> None:
    if settings.DEMO_WALLET_NODE:
        raise CommandError(
            f"At {host} others can reach this server, and the demo wallet would sign them in. "
            "Unset DEMO_WALLET_NODE, or leave --host out."
        )


def _warn_of_missing_tables() -> None:
    """Alone: /readyz tells the same, and they may come while the server runs."""
    with suppress(DatabaseFault):
        if not is_migrated():
            log.warning(NOT_MIGRATED)
    # Processes that begin as copies of this one must not share its connection.
    connection.close()


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
