"""Concurrent calls, each on a database connection of its own."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

# PostgreSQL has a hundred connections, which the workers of a test run share.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
MAX_THREADS = 100 if connection.vendor == "sqlite" else min(60, 80 // WORKERS)
Result = TypeVar("Result")


def all_at_once(work: Callable[[int], Result], count: int) -> list[Result]:
    """Call `work` with `count` numbers at the same time, and return the results."""
    start = threading.Barrier(min(count, MAX_THREADS))

    def run(number: int) -> Result:
        if number < MAX_THREADS:
            start.wait(timeout=60)
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(MAX_THREADS) as threads:
        return list(threads.map(run, range(count)))
