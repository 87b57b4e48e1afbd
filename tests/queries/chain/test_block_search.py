"""Finding a time's block among very many, in few questions."""

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


class _Block:
    def __init__(self, number: int, timestamp: int) -> None:
        self.number = number
        self.timestamp = timestamp
        self.hash = number.to_bytes(32, "big")
        self.parent_hash = max(number - 1, 0).to_bytes(32, "big")


class _Chain(SourceChain):
    """Times of blocks, as a chain that counts how often it is asked."""

    def __init__(self, times: list[int]) -> None:
        super().__init__(chain_of("http://127.0.0.1:1"))
        self.times = times
        self.asked = 0

    def header(self, number: int) -> Header:
        self.asked += 1
        return cast("Header", _Block(number, self.times[number]))

    def header_of(self, block_hash: bytes) -> Header:
        return self.header(int.from_bytes(block_hash, "big"))

    def head(self, _known_final: int | None = None) -> ChainHead:
        last = len(self.times) - 1
        return ChainHead(last, self.times[last], last.to_bytes(32, "big"), last)


@pytest.mark.parametrize("most", [12, 0], ids=["a block each 12 seconds", "many at one time"])
def test_the_block_is_found_in_few_questions(most: int) -> None:
    rng = random.Random(most)  # noqa: S311
    steps = (most or 100 * (rng.random() < 0.3) for _ in range(BLOCKS))
    times = [0, *accumulate(steps, initial=BEGIN)]
    for _ in range(50):
        chain = _Chain(times)
        seconds = rng.choice((rng.randrange(BEGIN, times[-1]), rng.choice(times[1:-200])))
        last, after = chain.last_block_at(seconds, chain.head())
        assert last.timestamp <= seconds < after.timestamp
        assert after.number == last.number + 1
        assert chain.asked <= 21
