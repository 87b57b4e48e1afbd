"""What the measuring programs share: how Django is set up, and how a run ends."""

import os
import signal
import sys
from collections.abc import Callable

import django
from django.db import Error as DatabaseFault

from explorer.demo.local_node import LocalNodeMissing, TransactionReverted
from explorer.demo.processes import DemoFailed
from queries.chain.errors import ChainError
from queries.chain.json_rpc import NodeRefused, NodeUnreachable

INTERRUPTED, READ_NO_FURTHER = 130, 141  # as shells count them


class BenchFailed(Exception):  # noqa: N818
    """Why a run ends with exit code 1, in one sentence."""


FAULTS = (
    BenchFailed, ChainError, DatabaseFault, DemoFailed, LocalNodeMissing, NodeRefused,
    NodeUnreachable, TransactionReverted,
)  # fmt: skip


def set_up_django() -> None:
    """Must run before models are imported. Measuring needs none of production's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
    os.environ["DEVELOPMENT"] = os.environ.get("DEVELOPMENT") or "1"
    django.setup()


def run(measure: Callable[[], None]) -> None:
    """Exit with 0, with 1 and a sentence after a failure, or with 130 after Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure()
    except FAULTS as fault:
        sys.exit(" ".join(str(fault).split()))
    except KeyboardInterrupt:
        sys.stderr.write("Ended before it was done.\n")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READ_NO_FURTHER)
