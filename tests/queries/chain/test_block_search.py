"""The block search by time needs few requests, even on a long chain."""

import random
from itertools import accumulate
from types import SimpleNamespace
from typing import cast

import pytest

from queries.chain.reader import ChainHead, SourceChain
from queries.proving.headers import Header
from tests.rigs.relay import chain_with_nodes

pytestmark = pytest.mark.no_database

BLOCKS = 300_000
BEGIN = 1_438_269_988  # mainnet's second block; its first has no time


class _CountingChain(SourceChain):
    """A chain with these block times that counts requests."""

    def __init__(self, times: list[int]) -> None:
        super().__init__(chain_with_nodes("http://127.0.0.1:1"))
        self.times = times
        self.requests = 0

    def header(self, number: int) -> Header:
        self.requests += 1
        return cast("Header", SimpleNamespace(number=number, timestamp=self.times[number]))

    def header_by_hash(self, block_hash: bytes) -> Header:
        return self.header(int.from_bytes(block_hash))


@pytest.mark.parametrize(
    "step", [12, 0], ids=["a block every 12 seconds", "many blocks at the same second"]
)
def test_the_block_search_needs_few_requests(step: int) -> None:
    rng = random.Random(step)
    steps = (step or 100 * (rng.random() < 0.3) for _ in range(BLOCKS))
    times = [0, *accumulate(steps, initial=BEGIN)]
    last_number = len(times) - 1
    head = ChainHead(last_number, times[-1], last_number.to_bytes(32), last_number)
    for _ in range(50):
        chain = _CountingChain(times)
        seconds = rng.choice((rng.randrange(BEGIN, times[-1]), rng.choice(times[1:-200])))
        last, child = chain.last_block_at(seconds, head)
        assert last.timestamp <= seconds < child.timestamp
        assert child.number == last.number + 1
        assert chain.requests <= 21
