"""`tacitus serve`: the web server, ready for production."""

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
from django.db import Error as DatabaseError
from django.db import connection

from accounts.database_state import NOT_MIGRATED, schema_fault
from accounts.sign_in.siwe import load_siwe
from explorer.http.logs import log_warnings_and_exceptions
from explorer.http.web_server import WebServer
from queries.management.base import whole_number

log = logging.getLogger("tacitus.serve")

MAX_PORT = 65_535
MAX_PROCESSES = MAX_THREADS = 1_000


class Command(BaseCommand):
    help = "Serves the explorer and the API over HTTP until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
        parser.add_argument("--host", default="127.0.0.1", help="address to bind (%(default)s)")
        for name, default, maximum, meaning in (
            ("port", 8000, MAX_PORT, "port (%(default)s)"),
            ("workers", processors, MAX_PROCESSES, "processes (%(default)s, one per processor)"),
            ("threads", 4, MAX_THREADS, "threads per process (%(default)s)"),
        ):
            parser.add_argument(
                f"--{name}", type=whole_number(maximum), default=default, help=meaning
            )

    def handle(self, **options: Any) -> None:
        port = options["port"]
        if not settings.DEVELOPMENT:
            _check_production_settings()
            if not settings.METRICS_TOKEN:
                log.info(
                    "METRICS_TOKEN is not set, so /metrics refuses requests from other machines "
                    "and behind a proxy."
                )
            load_siwe()  # imported once before the processes are forked, so that no visitor waits
        listener = _bind(options["host"], port)
        address = listener.getsockname()[0]
        if not ip_address(address).is_loopback:
            _check_public_settings(options["host"])
        log_warnings_and_exceptions()
        _check_schema()

        def print_address() -> None:
            host = f"[{address}]" if ":" in address else address
            self.stdout.write(f"Tacitus is at http://{host}:{port}/ (press Ctrl-C to stop)")
            self.stdout.flush()

        when_ready = print_address if settings.DEVELOPMENT else lambda: None
        WebServer(listener, options["workers"], options["threads"], when_ready).run()


def _check_production_settings() -> None:
    if not settings.BEHIND_PROXY:
        raise CommandError(
            "This server uses plain http. Put a proxy in front of it that terminates TLS, and set "
            "BEHIND_PROXY=1."
        )
    if not (settings.STATIC_ROOT / "staticfiles.json").exists():
        raise CommandError("Static files are not collected. Run: tacitus collectstatic")


def _check_public_settings(host: str) -> None:
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


def _check_schema() -> None:
    """Only warn of missing migrations: /readyz reports them too, and `migrate` may run after the
    server has started. Without a database, it starts too.
    """
    with suppress(DatabaseError):
        fault = schema_fault()
        if fault == NOT_MIGRATED:
            log.warning(fault)
        elif fault:
            raise CommandError(fault)
    connection.close()  # forked workers must not share it


def _bind(host: str, port: int) -> socket.socket:
    """Bind without listening: connections are refused until the server is ready."""
    listener = None
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        if listener:
            listener.close()
        is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "it is taken. Use another port" if is_taken else getattr(error, "strerror", error)
        raise CommandError(f"Cannot listen at {host}:{port}: {reason}.") from error
    return listener
