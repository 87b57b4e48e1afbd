"""How much of a time is waiting for the chain: transactions are sent, and none is mined yet."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from queries.chain.json_rpc import JsonRpc

LOOKS_EVERY = 0.02  # seconds


class ChainWatch:
    """Looks at the node's pool, again and again."""

    def __init__(self) -> None:
        self.looks = self.waiting = 0

    @property
    def share(self) -> float:
        return self.waiting / self.looks if self.looks else 0.0

    def look(self, rpc: JsonRpc) -> None:
        self.looks += 1
        self.waiting += int(rpc.ask("txpool_status")["pending"], 16) > 0


@contextmanager
def watched(url: str) -> Iterator[ChainWatch]:
    watch, ended, rpc = ChainWatch(), threading.Event(), JsonRpc(url)

    def look_on() -> None:
        while not ended.wait(LOOKS_EVERY):
            watch.look(rpc)

    watcher = threading.Thread(target=look_on)
    watcher.start()
    try:
        yield watch
    finally:
        ended.set()
        watcher.join()
        rpc.close()
