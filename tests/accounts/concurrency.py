"""Many at once, each on a database connection of its own."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

# PostgreSQL has a hundred connections for all that runs, other workers of a test run as well.
RUNNING = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
AT_ONCE = 100 if connection.vendor == "sqlite" else min(60, 80 // RUNNING)
Result = TypeVar("Result")


def all_at_once(work: Callable[[int], Result], count: int) -> list[Result]:
    """What `work` returns for each of `count` numbers, begun together."""
    begin = threading.Barrier(min(count, AT_ONCE))

    def one(number: int) -> Result:
        if number < AT_ONCE:
            begin.wait(timeout=60)
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(one, range(count)))
