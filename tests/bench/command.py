"""Setting up Django for the benchmark programs, and their exit codes."""

import os
import signal
import sys
from collections.abc import Callable

import django
from django.db import Error as DatabaseFault

from explorer.demo.local_node import LocalNodeMissingError, TransactionRevertedError
from explorer.demo.processes import DemoError
from queries.chain.errors import ChainError
from queries.chain.json_rpc import JsonRpcError, NodeTransportError

INTERRUPTED, BROKEN_PIPE = 130, 141  # the exit codes of shells


class BenchError(Exception):
    """Ends the run with exit code 1 and this sentence."""


FAULTS = (
    BenchError, ChainError, DatabaseFault, DemoError, LocalNodeMissingError, JsonRpcError,
    NodeTransportError, TransactionRevertedError,
)  # fmt: skip


def set_up_django() -> None:
    """Call this before models are imported. It sets DEVELOPMENT, so no settings are needed."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
    os.environ["DEVELOPMENT"] = os.environ.get("DEVELOPMENT") or "1"
    django.setup()


def run(measure: Callable[[], None]) -> None:
    """Exit with 0, with 1 and a sentence after a failure, or with 130 after Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure()
    except FAULTS as error:
        sys.exit(" ".join(str(error).split()))
    except KeyboardInterrupt:
        sys.stderr.write("Ended before it was done.\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)
