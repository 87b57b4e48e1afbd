"""`tacitus demo`: three chains, the service and a tour, all on this machine, until Ctrl-C."""

import errno
import io
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from explorer.demo.beacon_chain import run_beacon_chain
from explorer.demo.chains import CHAIN_A, Keys, produce_blocks, run_nodes, set_up_chains
from explorer.demo.installation import install_local_node
from explorer.demo.local_node import LocalNodeMissingError, TransactionRevertedError, is_installed
from explorer.demo.processes import DemoError, empty_folder, shown_path
from explorer.demo.service import running_service, sign_in
from explorer.demo.tour import Terminal, examples, show, show_lookup, things_to_try
from queries.chain import JsonRpcError, NodeTransportError
from queries.client.python import Tacitus
from queries.management.base import whole_number

MAX_PORT = 65_535
CHECK_SECONDS = 0.5
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(BaseCommand):
    help = (
        "Starts three local chains with their registries, a server and a prover, proves four "
        "things and compares them with the chains, and stays up until Ctrl-C. It needs no "
        "configuration."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        port = whole_number(MAX_PORT)
        parser.add_argument(
            "--port", type=port, default=8000, help="the web server's (%(default)s)"
        )
        parser.add_argument("--once", action="store_true", help="stop when all is proven")

    def handle(self, **options: Any) -> None:
        _check_port(options["port"])
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # some terminals cannot encode the step marks
        terminal = Terminal(sys.stdout)  # Django's wrapper ends each text with a new line
        for number in STOP_SIGNALS:
            signal.signal(number, signal.default_int_handler)
        try:
            _run(terminal, options["port"], once=options["once"])
        except DemoError as error:
            terminal.line()
            terminal.line("All programs have stopped.")
            raise CommandError(str(error)) from None
        except LocalNodeMissingError as error:
            raise CommandError(str(error)) from None
        except (NodeTransportError, JsonRpcError, TransactionRevertedError) as error:
            raise CommandError(f"A local chain failed: {error} Start the demo again.") from None
        except KeyboardInterrupt:
            terminal.line("All programs have stopped.")


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            reason = " is in use" if error.errno == errno.EADDRINUSE else f": {error.strerror}"
            raise CommandError(
                f"Port {port}{reason}. Use another: tacitus demo --port 8001, or in a checkout "
                "make demo PORT=8001"
            ) from None


DOCUMENTED_BLOCK = 17  # which the requests of README and guides name


def _run(terminal: Terminal, port: int, *, once: bool) -> None:
    site, keys = f"http://127.0.0.1:{port}", Keys()
    folder = empty_folder(settings.DATA_DIR / f"demo-{port}")
    terminal.line("Tacitus on this machine. Everything here runs for real. Press Ctrl-C to stop.")
    terminal.line()
    with ExitStack() as stack:
        try:
            if not is_installed():
                with terminal.step("Downloaded a local Ethereum node (Anvil, some 45 MB)"):
                    install_local_node()
            with terminal.step("Three chains, with registries and state to prove"):
                nodes = stack.enter_context(run_nodes())
                beacon = stack.enter_context(run_beacon_chain(nodes.c))
                chains = set_up_chains(nodes, beacon, keys, site)
                stack.enter_context(produce_blocks(nodes, beacon))
            with terminal.step("Database, web server, prover and attesters"):
                programs = stack.enter_context(running_service(folder, site, chains, keys))
            with terminal.step("Signed in as a wallet does, and got an API key"):
                key = sign_in(site, chains.a, CHAIN_A)
            batches = []
            for example in examples(chains):
                terminal.line()
                batch_id = show(Tacitus(site, key), example, terminal, programs.check)
                batches.append((batch_id, example.block_hash))
            terminal.line()
            show_lookup(chains, terminal)
            terminal.line()
            if once:
                terminal.line("The registries hold the same values as the chains.")
                return
            chains.make_final(DOCUMENTED_BLOCK)
            path = str(shown_path(folder))
            terminal.line(things_to_try(site, key, path, chains, batches[0]))
            while True:
                programs.check()
                time.sleep(CHECK_SECONDS)
        except KeyboardInterrupt:
            terminal.line()
            terminal.line("Stopping …")
            raise
        finally:
            # Another Ctrl-C must not interrupt the stopping of programs.
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
