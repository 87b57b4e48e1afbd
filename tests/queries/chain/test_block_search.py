"""Finding a time's block among very many, in few questions."""

import random
from collections.abc import Callable
from itertools import accumulate
from typing import cast

import pytest

from queries.chain.errors import BlockUnknown
from queries.chain.source import ChainHead, SourceChain
from queries.proving.headers import Header
from tests.queries.chain.relay import chain_of

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
        self.first = 0  # nodes have dropped the blocks before it

    def header(self, number: int) -> Header:
        self.asked += 1
        if number < self.first:
            raise BlockUnknown("The nodes know no such block.")
        return cast("Header", _Block(number, self.times[number]))

    def header_of(self, block_hash: bytes) -> Header:
        return self.header(int.from_bytes(block_hash, "big"))

    def head(self, _known_final: int | None = None) -> ChainHead:
        last = len(self.times) - 1
        return ChainHead(last, self.times[last], last.to_bytes(32, "big"), last)


PACES: dict[str, Callable[[random.Random, int], int]] = {
    "even": lambda _, __: 12,
    "some blocks missed": lambda rng, _: 12 if rng.random() < 0.99 else 24,
    "mined, then in slots": lambda rng, n: int(rng.expovariate(1 / 14)) + 1 if n < 2e5 else 12,
    "several at a time": lambda rng, _: 100 * (rng.random() < 0.3),
    "slow, then fast": lambda _, number: 600 if number < BLOCKS // 2 else 1,
}


@pytest.mark.parametrize("pace", PACES)
def test_the_block_is_found_in_few_questions(pace: str) -> None:
    rng = random.Random(pace)  # noqa: S311
    steps = (PACES[pace](rng, number) for number in range(BLOCKS))
    times = [0, *accumulate(steps, initial=BEGIN)]
    questions = []
    for _ in range(200):
        chain = _Chain(times)
        seconds = rng.choice((rng.randrange(BEGIN, times[-1]), rng.choice(times[1:]) or 0))
        if seconds >= times[-1]:
            continue
        last, after = chain.last_block_at(seconds, chain.head())
        assert last.timestamp <= seconds < after.timestamp
        assert after.number == last.number + 1
        questions.append(chain.asked)
    assert sum(questions) / len(questions) < 16
    assert max(questions) < 40
