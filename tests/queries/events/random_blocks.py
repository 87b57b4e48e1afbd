"""Random blocks of two chains, whose roots the `trie` and `rlp` packages compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import rlp

from queries.proving.block_items import BLOOM_BYTES, Log, Receipt, Withdrawal
from queries.proving.facts import ABSENCE_KINDS, ABSENCE_WORD, EventFact, FactKind
from queries.proving.headers import HeaderField, decode_header
from queries.proving.index_tries import IndexTrie
from queries.proving.keccak import EMPTY_UNCLES_HASH, keccak256
from tests.queries.attacks.witness_parts import ChosenTrie
from tests.queries.contracts.recorded_events import RecordedBlock

TRANSACTIONS, RECEIPTS = HeaderField.TRANSACTIONS_ROOT, HeaderField.RECEIPTS_ROOT
BLOOM, WITHDRAWALS = HeaderField.LOGS_BLOOM, HeaderField.WITHDRAWALS_ROOT
FIELDS = (TRANSACTIONS, RECEIPTS, BLOOM, WITHDRAWALS)
SOURCE, OTHER_SOURCE = 10, 8453
# Paths of two, four and six nibbles, and lists that end next to them.
EDGES = (0, 1, 2, 15, 16, 17, 127, 128, 129, 130, 255, 256, 257, 300)
_COUNTS = (0, 1, 1, 2, 2, 3, 3, 5, 5, 8, 12, 15, 16, 16, 17, 18, 40, 130, *EDGES[6:])
_DATA_LENGTHS = (0, 0, 1, 1, 20, 31, 32, 32, 33, 55, 56, 64, 100, 255, 256, 300, 1_000, 3_000)
_DEPOSIT = 0x7E
_MAX_UINT64 = 2**64 - 1


@dataclass(frozen=True)
class RandomBlock(RecordedBlock):
    """A block whose lists are all known, and so what is true of it."""

    @cached_property
    def tries(self) -> Mapping[HeaderField, IndexTrie]:
        return {field: IndexTrie(self.values(field)) for field in FIELDS if field is not BLOOM}

    def values(self, field: HeaderField) -> Sequence[bytes]:
        """The encoded items of a list, by the `rlp` package."""
        return self._values[field]

    @cached_property
    def _values(self) -> Mapping[HeaderField, Sequence[bytes]]:
        return {
            TRANSACTIONS: self.transactions,
            RECEIPTS: [_encode_receipt(receipt) for receipt in self.receipts],
            WITHDRAWALS: [_encode_withdrawal(item) for item in self.withdrawals],
        }

    @cached_property
    def items(self) -> Mapping[EventFact, bytes]:
        """The words of all logs, receipts, transactions and withdrawals."""
        words = dict[EventFact, bytes]()
        for index, envelope in enumerate(self.transactions):
            words[EventFact(FactKind.TRANSACTION, index)] = keccak256(envelope)
        for index, encoded in enumerate(self.values(WITHDRAWALS)):
            words[EventFact(FactKind.WITHDRAWAL, index)] = keccak256(encoded)
        for index, receipt in enumerate(self.receipts):
            status = receipt.status if isinstance(receipt.status, int) else 2
            parts = (
                receipt.cumulative_gas.to_bytes(27), len(receipt.logs).to_bytes(2),
                bytes((receipt.transaction_type, status, 1)),
            )  # fmt: skip
            words[EventFact(FactKind.RECEIPT, index)] = b"".join(parts)
            for place, log in enumerate(receipt.logs):
                words[EventFact(FactKind.LOG, index, place)] = log_hash(log)
        return words

    def truth(self, fact: EventFact) -> bytes | None:
        """The word of a fact, or None if it is not true."""
        if fact.kind in ABSENCE_KINDS:
            return ABSENCE_WORD if self._is_absent(fact) else None
        return self.items.get(fact)

    def _is_absent(self, fact: EventFact) -> bool:
        if fact.kind is FactKind.ABSENT_LOG:
            assert fact.filter
            receipts = self.receipts[fact.index : fact.index + 1]
            return any(not any(map(fact.filter.matches, receipt.logs)) for receipt in receipts)
        if fact.kind is FactKind.SILENT_BLOCK:
            logs = (log for receipt in self.receipts for log in receipt.logs)
            return all(fact.item not in {log.emitter, *log.topics} for log in logs)
        return fact.index >= len(self.values(fact.field))


def log_hash(log: Log) -> bytes:
    return keccak256(rlp.encode([log.emitter, list(log.topics), log.data]))


def _encode_withdrawal(item: Withdrawal) -> bytes:
    encoded: bytes = rlp.encode([item.index, item.validator, item.recipient, item.amount])
    return encoded


def _encode_receipt(receipt: Receipt) -> bytes:
    logs = [[log.emitter, list(log.topics), log.data] for log in receipt.logs]
    fields = [receipt.status, receipt.cumulative_gas, bloom_of([receipt]), logs, *receipt.deposit]
    encoded: bytes = rlp.encode(fields)
    return bytes((receipt.transaction_type,)) * bool(receipt.transaction_type) + encoded


def bloom_of(receipts: Sequence[Receipt]) -> bytes:
    bits = 0
    for item in {i for r in receipts for log in r.logs for i in (log.emitter, *log.topics)}:
        bits |= _bloom_bits(item)
    return bits.to_bytes(BLOOM_BYTES)


def may_have(bloom: bytes, item: bytes) -> bool:
    """Whether a bloom does not exclude an emitter or topic."""
    return _bloom_bits(item) & ~int.from_bytes(bloom) == 0


def _bloom_bits(item: bytes) -> int:
    digest, bits = keccak256(item), 0
    for high, low in (digest[:2], digest[2:4], digest[4:6]):
        bits |= 1 << (high % 8 * 256 + low)
    return bits


@dataclass(frozen=True)
class Sources:
    """Two successive blocks of a chain, and one of another chain with the first one's number."""

    first: RandomBlock
    second: RandomBlock
    foreign: RandomBlock
    emitters: Sequence[bytes]
    topics: Sequence[bytes]

    @property
    def blocks(self) -> tuple[RandomBlock, RandomBlock]:
        """Those that the verifier's registry knows."""
        return self.first, self.second

    def block(self, chain: int, number: int) -> RandomBlock | None:
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

    def block(self, number: int, parent: bytes) -> RandomBlock:
        count = self.chosen.choice(_COUNTS)
        receipts = self._receipts(count)
        transactions = [self._transaction(receipt.transaction_type) for receipt in receipts]
        if self.chosen.random() < 0.05:  # the same list under two roots
            transactions = list(map(_encode_receipt, receipts))
        withdrawals = self._withdrawals(self.chosen.choice((0, 1, 2, 3, 15, 16)))
        lists = (
            transactions,
            list(map(_encode_receipt, receipts)),
            list(map(_encode_withdrawal, withdrawals)),
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
        return RandomBlock(header, tuple(transactions), tuple(receipts), tuple(withdrawals), ())

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
