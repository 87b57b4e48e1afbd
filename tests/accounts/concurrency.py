"""Many at once, each on a database connection of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

AT_ONCE = 25  # connections; PostgreSQL has a hundred, for all workers of a test run
Result = TypeVar("Result")


def all_at_once(work: Callable[[int], Result], count: int) -> list[Result]:
    """What `work` returns for each of `count` numbers, begun together."""
    begin = threading.Barrier(min(count, AT_ONCE))

    def one(number: int) -> Result:
        if number < AT_ONCE:
            begin.wait(timeout=30)
        try:
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(one, range(count)))
