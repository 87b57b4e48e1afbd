"""The web server, ready for production: `manage.py serve`."""

import errno
import logging
import os
import socket
from argparse import ArgumentParser
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.checks.security.base import SECRET_KEY_INSECURE_PREFIX
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseFault
from django.db import connection

from accounts.shared.database_state import NOT_MIGRATED, is_migrated
from accounts.sign_in.siwe import siwe
from explorer.http.logs import log_what_python_says
from explorer.http.web_server import WebServer

log = logging.getLogger("tacitus.serve")

GREATEST_PORT = 65_535
MANY = 1_000


class Command(BaseCommand):
    help = "Serves the explorer and the API over HTTP until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen at (%(default)s)"
        )
        # Taken as text: argparse answers a wrong number with its usage, we with a sentence.
        parser.add_argument("--port", default="8000", help="port (%(default)s)")
        parser.add_argument(
            "--workers", default=str(processors), help="processes (%(default)s, one per processor)"
        )
        parser.add_argument(
            "--threads", default="4", help="requests that one process answers at once (%(default)s)"
        )

    def handle(self, **options: Any) -> None:
        port = _number("port", options["port"], GREATEST_PORT)
        workers = _number("workers", options["workers"], MANY)
        threads = _number("threads", options["threads"], MANY)
        if not settings.DEVELOPMENT:
            _refuse_what_production_lacks()
            if not settings.METRICS_TOKEN:
                log.info("METRICS_TOKEN is not set, so /metrics refuses all requests.")
            siwe()  # loaded once for all its processes, and no visitor waits for that
        listener = _bound(options["host"], port)
        address = listener.getsockname()[0]
        if not ip_address(address).is_loopback:
            _refuse_what_others_must_not_reach(options["host"])
        log_what_python_says()
        _warn_of_missing_tables()

        def say_where() -> None:
            shown = f"[{address}]" if ":" in address else address
            self.stdout.write(f"Tacitus is at http://{shown}:{port}/ (Ctrl-C ends it)")
            self.stdout.flush()

        WebServer(
            listener, workers, threads, say_where if settings.DEVELOPMENT else lambda: None
        ).run()


def _number(option: str, text: str, most: int) -> int:
    if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most:
        return int(text)
    raise CommandError(f"--{option} is {text!r}; take a whole number from 1 to {most}.")


def _refuse_what_production_lacks() -> None:
    if not settings.BEHIND_PROXY:
        raise CommandError(
            "This server speaks plain http. Put a proxy in front of it that terminates TLS, and "
            "set BEHIND_PROXY=1."
        )
    if not (settings.STATIC_ROOT / "staticfiles.json").exists():
        raise CommandError("Static files are not collected. Run: manage.py collectstatic")


def _refuse_what_others_must_not_reach(host: str) -> None:
    if settings.SECRET_KEY.startswith(SECRET_KEY_INSECURE_PREFIX):
        raise CommandError(
            f"At {host} others can reach this server, but it uses the public development key. "
            "Set SECRET_KEY, or leave --host out."
        )
    if settings.DEMO_WALLET_NODE:
        raise CommandError(
            f"At {host} others can reach this server, and the demo wallet would sign them in. "
            "Unset DEMO_WALLET_NODE, or leave --host out."
        )


def _warn_of_missing_tables() -> None:
    """A warning alone: /readyz says the same, and the tables may come while the server runs."""
    with suppress(DatabaseFault):
        if not is_migrated():
            log.warning(NOT_MIGRATED)
    connection.close()  # the workers are forks, and must not share it


def _bound(host: str, port: int) -> socket.socket:
    """Not listening yet: a connection is refused, not kept waiting, until the server is ready."""
    listener = None
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        if listener:
            listener.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "it is taken. Choose another port" if taken else getattr(error, "strerror", error)
        raise CommandError(f"Cannot listen at {host}:{port}: {reason}.") from error
    return listener
