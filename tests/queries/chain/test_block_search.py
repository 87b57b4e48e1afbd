"""The block search by time needs few requests, even on a long chain."""

import random
from itertools import accumulate
from typing import cast

import pytest

from queries.chain.reader import ChainHead, SourceChain
from queries.proving.headers import Header
from tests.rigs.relay import chain_of

pytestmark = pytest.mark.no_database

BLOCKS = 300_000
BEGIN = 1_438_269_988  # mainnet's second block; its first has no time


class _FakeBlock:
    def __init__(self, number: int, timestamp: int) -> None:
        self.number = number
        self.timestamp = timestamp
        self.hash = number.to_bytes(32, "big")
        self.parent_hash = max(number - 1, 0).to_bytes(32, "big")


class _CountingChain(SourceChain):
    """A chain with these block times that counts requests."""

    def __init__(self, times: list[int]) -> None:
        super().__init__(chain_of("http://127.0.0.1:1"))
        self.times = times
        self.requests = 0

    def header(self, number: int) -> Header:
        self.requests += 1
        return cast("Header", _FakeBlock(number, self.times[number]))

    def header_of(self, block_hash: bytes) -> Header:
        return self.header(int.from_bytes(block_hash, "big"))

    def head(self, _known_final: int | None = None) -> ChainHead:
        last = len(self.times) - 1
        return ChainHead(last, self.times[last], last.to_bytes(32, "big"), last)


@pytest.mark.parametrize(
    "step", [12, 0], ids=["a block every 12 seconds", "many blocks at the same second"]
)
def test_the_block_search_needs_few_requests(step: int) -> None:
    rng = random.Random(step)  # noqa: S311
    steps = (step or 100 * (rng.random() < 0.3) for _ in range(BLOCKS))
    times = [0, *accumulate(steps, initial=BEGIN)]
    for _ in range(50):
        chain = _CountingChain(times)
        seconds = rng.choice((rng.randrange(BEGIN, times[-1]), rng.choice(times[1:-200])))
        last, child = chain.last_block_at(seconds, chain.head())
        assert last.timestamp <= seconds < child.timestamp
        assert child.number == last.number + 1
        assert chain.requests <= 21
