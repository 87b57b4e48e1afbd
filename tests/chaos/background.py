"""Work in a thread."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def in_background(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Work in a thread until the block ends; raise what the work raises."""
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work, stopped)
        try:
            yield
        finally:
            stopped.set()
        future.result()
