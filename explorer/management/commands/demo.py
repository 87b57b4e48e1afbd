"""`manage.py demo`: two chains, the service and a tour, all on this machine, until Ctrl-C."""

import errno
import signal
import socket
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from explorer.demo.chains import CHAIN_A, Keys, furnished, l1_blocks_on_l2, two_nodes
from explorer.demo.local_node import LocalNodeMissing, TransactionReverted
from explorer.demo.processes import DemoFailed, empty_folder
from explorer.demo.service import running_service, sign_in
from explorer.demo.tour import Terminal, examples, show, things_to_try
from queries.chain.json_rpc import NodeRefused, NodeUnreachable
from queries.client.tacitus import Tacitus

GREATEST_PORT = 65_535
WATCHED_EVERY = 0.5  # seconds
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(BaseCommand):
    help = (
        "Starts two local chains with their registries, a server and a prover, proves three things "
        "and compares them with the chains, and stays up until Ctrl-C. It needs no configuration."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", default="8000", help="the web server's (%(default)s)")
        parser.add_argument("--once", action="store_true", help="end when all is proven")

    def handle(self, **options: Any) -> None:
        port = _free_port(options["port"])
        terminal = Terminal(self.stdout)  # type: ignore[arg-type]
        for each in ENDING:
            signal.signal(each, signal.default_int_handler)
        try:
            _run(terminal, port, once=options["once"])
        except DemoFailed as fault:
            terminal.line()
            terminal.line("Everything that was started has ended.")
            raise CommandError(str(fault)) from None
        except LocalNodeMissing as fault:
            raise CommandError(str(fault)) from None
        except (NodeUnreachable, NodeRefused, TransactionReverted) as fault:
            raise CommandError(f"A local chain failed: {fault}") from None
        except KeyboardInterrupt:
            terminal.line("Everything that was started has ended.")


def _free_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= GREATEST_PORT):
        raise CommandError(
            f"--port is {text!r}; take a whole number from 1 to {GREATEST_PORT}, such as "
            "make demo PORT=8001"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(text)))
        except OSError as fault:
            reason = " is taken" if fault.errno == errno.EADDRINUSE else f": {fault.strerror}"
            raise CommandError(f"Port {text}{reason}. Name another: make demo PORT=8001") from None
    return int(text)


def _run(terminal: Terminal, port: int, *, once: bool) -> None:
    site, keys = f"http://127.0.0.1:{port}", Keys.new()
    folder = empty_folder(settings.VAR_DIR / f"demo-{port}")
    terminal.line("Tacitus on this machine. All of it is real, and Ctrl-C ends it.")
    terminal.line()
    with ExitStack() as running:
        try:
            with terminal.step("Two chains, with registries and something to prove"):
                chains = furnished(*running.enter_context(two_nodes()), keys)
                running.enter_context(l1_blocks_on_l2(chains.a, chains.b))
            with terminal.step("Database, web server, prover and attesters"):
                its = running.enter_context(running_service(folder, site, chains, keys))
            with terminal.step("Signed in, as a wallet does, and found an API key"):
                key = sign_in(site, chains.a, CHAIN_A)
            shown = []
            for example in examples(chains):
                terminal.line()
                batch_id = show(Tacitus(site, key), example, terminal, its.check)
                shown.append((batch_id, example.block_hash))
            terminal.line()
            if once:
                terminal.line("The registries hold the same values as the chains.")
                return
            kept = str(folder.relative_to(settings.BASE_DIR))
            terminal.line(things_to_try(site, key, kept, chains, shown[0]))
            while True:
                its.check()
                time.sleep(WATCHED_EVERY)
        except KeyboardInterrupt:
            terminal.line()
            terminal.line("Ending …")
            raise
        finally:
            # Another Ctrl-C would leave behind what is not ended yet.
            for each in ENDING:
                signal.signal(each, signal.SIG_IGN)
