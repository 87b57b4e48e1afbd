"""Random blocks of two chains, whose roots the `trie` and `rlp` packages compute."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import rlp

from queries.proving.block_items import Log, Receipt, Withdrawal
from queries.proving.headers import decode_header
from queries.proving.keccak import EMPTY_UNCLES_HASH
from tests.queries.attacks.witness_parts import ChosenTrie
from tests.queries.contracts.recorded_events import (
    RecordedBlock,
    bloom_of,
    encode_receipt,
    encode_withdrawal,
)

SOURCE, OTHER_SOURCE = 10, 8453
# Paths of two, four and six nibbles, and lists that end next to them.
EDGES = (0, 1, 2, 15, 16, 17, 127, 128, 129, 130, 255, 256, 257, 300)
_COUNTS = (0, 1, 1, 2, 2, 3, 3, 5, 5, 8, 12, 15, 16, 16, 17, 18, 40, 130, *EDGES[6:])
_DATA_LENGTHS = (0, 0, 1, 1, 20, 31, 32, 32, 33, 55, 56, 64, 100, 255, 256, 300, 1_000, 3_000)
_DEPOSIT = 0x7E
_MAX_UINT64 = 2**64 - 1


@dataclass(frozen=True)
class Sources:
    """Two successive blocks of a chain, and one of another chain with the first one's number."""

    first: RecordedBlock
    second: RecordedBlock
    foreign: RecordedBlock
    emitters: Sequence[bytes]
    topics: Sequence[bytes]

    @property
    def blocks(self) -> tuple[RecordedBlock, RecordedBlock]:
        """Those that the verifier's registry knows."""
        return self.first, self.second

    def block(self, chain: int, number: int) -> RecordedBlock | None:
        known = self.blocks if chain == SOURCE else (self.foreign,) * (chain == OTHER_SOURCE)
        return next((block for block in known if block.number == number), None)


def random_sources(chosen: Random) -> Sources:
    emitters, topics = ([chosen.randbytes(size) for _ in range(6)] for size in (20, 32))
    number = chosen.choice((1, 255, 22_000_000, 2**32, 2**63))
    items = _RandomItems(chosen, emitters, topics)
    first = items.block(number, chosen.randbytes(32))
    second = items.block(number + 1, first.header.hash)
    return Sources(first, second, items.block(number, chosen.randbytes(32)), emitters, topics)


@dataclass(frozen=True)
class _RandomItems:
    """Items of blocks with few emitters and topics, so that many logs share them."""

    chosen: Random
    emitters: Sequence[bytes]
    topics: Sequence[bytes]

    def block(self, number: int, parent: bytes) -> RecordedBlock:
        count = self.chosen.choice(_COUNTS)
        receipts = self._receipts(count)
        transactions = [self._transaction(receipt.transaction_type) for receipt in receipts]
        if self.chosen.random() < 0.05:  # the same list under two roots
            transactions = list(map(encode_receipt, receipts))
        withdrawals = self._withdrawals(self.chosen.choice((0, 1, 2, 3, 15, 16)))
        lists = (
            transactions,
            list(map(encode_receipt, receipts)),
            list(map(encode_withdrawal, withdrawals)),
        )
        roots = [
            ChosenTrie({rlp.encode(index): value for index, value in enumerate(values)}).root
            for values in lists
        ]
        fields = [
            parent, EMPTY_UNCLES_HASH, bytes(20), self.chosen.randbytes(32), *roots[:2],
            bloom_of(receipts), 0, number, 30_000_000, 21_000, 1_700_000_000 + number % 1_000_000,
            b"", bytes(32), bytes(8), 7, roots[2], 0, 0, bytes(32), bytes(32),
        ]  # fmt: skip
        header = decode_header(rlp.encode(fields))
        return RecordedBlock(header, tuple(transactions), tuple(receipts), tuple(withdrawals), ())

    def _receipts(self, count: int) -> list[Receipt]:
        has_roots = self.chosen.random() < 0.2  # before Byzantium
        gas = self.chosen.choice((0, 0, 0, 1, 21_000, 2**32, _MAX_UINT64 - 10**9))
        # Of many receipts most have the same logs, which is faster.
        lists = [self._logs(count) for _ in range(min(count, 12))]
        receipts = []
        for _ in range(count):
            gas += self.chosen.choice((0, 1, 100, 21_000, 10**6))
            kind, logs = self.chosen.choice((0, 0, 1, 2, 2, 3, 4)), self.chosen.choice(lists)
            status: int | bytes = self.chosen.randrange(2)
            deposit: tuple[int, ...] = ()
            if has_roots and kind == 0:
                status = self.chosen.randbytes(32)
            if self.chosen.random() < 0.03:
                kind, deposit = _DEPOSIT, self.chosen.choice(((), (5, 1)))
            receipts.append(Receipt(kind, status, gas, logs, deposit))
        return receipts

    def _logs(self, receipts: int) -> tuple[Log, ...]:
        count = self.chosen.choice((0, 0, 1, 1, 2, 3, 5))
        if receipts < 20 and self.chosen.random() < 0.05:
            count = self.chosen.choice((30, 31, 60, 200))
        return tuple(self._log(count) for _ in range(count))

    def _log(self, logs: int) -> Log:
        topics = self.chosen.choices(self.topics, k=self.chosen.randrange(5))
        length = self.chosen.choice(_DATA_LENGTHS[: 8 if logs > 5 else None])
        return Log(self.chosen.choice(self.emitters), tuple(topics), self.chosen.randbytes(length))

    def _transaction(self, kind: int) -> bytes:
        """Any list, of which some are short enough to be embedded in a branch."""
        size = self.chosen.choice((0, 1, 1, 2, 10, 25, 30, 60, 100, 200, 1_000))
        items: bytes = rlp.encode([self.chosen.randbytes(size)] * (size > 0))
        # A list of one item below 0x80 or none is a value of one or two bytes.
        return bytes((kind,)) * bool(kind) + (items if kind or size else b"\xc1\x80")

    def _withdrawals(self, count: int) -> list[Withdrawal]:
        first = self.chosen.choice((0, 1, 100, 2**32, _MAX_UINT64 - 16))
        small = self.chosen.random() < 0.5
        return [
            Withdrawal(
                first + place,
                self.chosen.randrange(130) if small else self.chosen.choice((0, 2**40, 2**64 - 1)),
                self.chosen.choice(self.emitters),
                self.chosen.choice((0, 1, 127, 128, 2**40, _MAX_UINT64)),
            )
            for place in range(count)
        ]
