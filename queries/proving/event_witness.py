"""Encode and read the witness of an EventsVerifier: items of blocks, in few bytes.

    witness  7 times uint16 number of facts in each list of `EventFacts`, then groups
    group    uint8 header field; uint64 block number, unless a section states the field;
             of a list: uint16 number of indexes, each index uint16, the nodes of its trie
             of a bloom: 256 bytes, uint16 number of items, each uint8 0 and 20 emitter, or 1 and 32
             topic

`IndexTrie.sol` describes the nodes, `BlockItems.sol` the content of a leaf. Reading rebuilds the
roots like the contract. The result holds for every block whose header has these roots, which the
caller has to compare.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.block_items import (
    BLOOM_BYTES,
    NEWEST_TYPE,
    STATE_ROOT_STATUS,
    BlockItem,
    Log,
    Receipt,
    Withdrawal,
    bloom_excludes,
    encode_item,
    logs_bloom,
)
from queries.proving.errors import NotAbsentError, WitnessMalformedError
from queries.proving.facts import (
    ABSENCE_WORD,
    EVENT_FIELDS,
    BlockFact,
    FactKind,
    LogFilter,
    canonical_filter,
)
from queries.proving.headers import Header, HeaderField
from queries.proving.index_tries import IndexTrie, index_path
from queries.proving.keccak import HASH_BYTES, keccak256, number_word
from queries.proving.rlp_items import integer_payload, is_list
from queries.proving.tries import Leaf
from queries.proving.witness_reading import TrieWalk, check_ascending, check_length
from queries.proving.witnesses import Key, WitnessReader, encode_nodes, encode_uint16

PROVE_EVENTS_SELECTOR = keccak256(b"prove(bytes,bytes)")[:4]
BLOOM_SENT = 0x40
IS_FACT = 0x80
# With more emitters and topics in a receipt it is cheaper to send the bloom than to derive it.
MAX_DERIVED_ITEMS = 30

_field = attrgetter("field")


class EventList(IntEnum):
    """The lists of `EventFacts`."""

    LOGS = 0
    RECEIPTS = 1
    TRANSACTIONS = 2
    WITHDRAWALS = 3
    ABSENT_INDEXES = 4
    ABSENT_LOGS = 5
    SILENT_BLOCKS = 6


class BlockLists(Protocol):
    """The lists and the bloom of a block."""

    def items(self, field: HeaderField) -> Sequence[BlockItem]:
        """The list to whose trie this header field commits."""

    @property
    def bloom(self) -> bytes: ...


def build_event_witness(
    content: BlockLists, facts: Iterable[BlockFact], block: int | None = None
) -> bytes:
    """Encode these facts of a block, with its number if no section states its header fields."""
    sorted_facts = sorted(facts, key=_field)
    number = b"" if block is None else block.to_bytes(8, "big")
    parts = [*map(encode_uint16, count_facts(sorted_facts))]
    for field, group in groupby(sorted_facts, _field):
        own_facts = list(group)
        if field is HeaderField.LOGS_BLOOM:
            encoding = encode_bloom_group(content.bloom, [fact.item for fact in own_facts])
        else:
            encoding = encode_list_group(content.items(field), own_facts)
        parts += [bytes((field,)), number, encoding]
    return b"".join(parts)


def count_facts(facts: Iterable[BlockFact]) -> list[int]:
    """Count the facts in each `EventList`; a list's name is the plural of its kind."""
    counts = Counter(f"{fact.kind}S" for fact in facts)
    counts["ABSENT_INDEXES"] = counts["ABSENT_TRANSACTIONS"] + counts["ABSENT_WITHDRAWALS"]
    return [counts[kind.name] for kind in EventList]


def encode_bloom_group(bloom: bytes, items: Sequence[bytes]) -> bytes:
    """Encode emitters and topics that a block's bloom shows to be absent."""
    parts = (bytes((len(item) == HASH_BYTES,)) + item for item in items)
    return b"".join((bloom, encode_uint16(len(items)), *parts))


def encode_list_group(items: Sequence[BlockItem], facts: Sequence[BlockFact]) -> bytes:
    """Encode facts about a list of a block; indexes at its end or beyond are proven absent."""
    trie = IndexTrie(list(map(encode_item, items)))
    indexes = sorted({fact.key for fact in facts}, key=index_path)
    keys = [
        Key(
            index_path(index),
            trie.path(index),
            partial(encode_leaf, items, facts, index),
            is_index=True,
        )
        for index in indexes
    ]
    encoded_indexes = b"".join(map(encode_uint16, (len(indexes), *indexes)))
    return encoded_indexes + encode_nodes(keys)


def encode_leaf(items: Sequence[BlockItem], facts: Sequence[BlockFact], index: int) -> bytes:
    """Encode the item at this index, and which facts of it are proven."""
    item = items[index]
    if isinstance(item, bytes):
        return len(item).to_bytes(3, "big") + item
    if isinstance(item, Receipt):
        return _encode_receipt(item, [fact for fact in facts if fact.key == index])
    number, validator = item.index.to_bytes(8, "big"), item.validator.to_bytes(8, "big")
    return number + validator + item.recipient + item.amount.to_bytes(8, "big")


def _encode_receipt(receipt: Receipt, facts: Sequence[BlockFact]) -> bytes:
    is_fact = any(fact.kind is FactKind.RECEIPT for fact in facts)
    logs = {fact.log for fact in facts if fact.kind is FactKind.LOG}
    filters = [fact.filter.encode() for fact in facts if fact.filter]
    if isinstance(receipt.status, bytes):
        status, root = STATE_ROOT_STATUS, receipt.status
    else:
        status, root = receipt.status, b""
    form = status | IS_FACT * is_fact
    gas, bloom = integer_payload(receipt.cumulative_gas), b""
    if sum(1 + len(log.topics) for log in receipt.logs) > MAX_DERIVED_ITEMS:
        form |= BLOOM_SENT
        bloom = logs_bloom(receipt.logs)
    return b"".join(
        (
            bytes((receipt.transaction_type, form, len(gas))),
            gas,
            root,
            bloom,
            encode_uint16(len(receipt.logs)),
            *(_encode_log(log, is_fact=i in logs) for i, log in enumerate(receipt.logs)),
            bytes((len(filters),)),
            *filters,
        )
    )


def _encode_log(log: Log, *, is_fact: bool) -> bytes:
    form = len(log.topics) | IS_FACT * is_fact
    size = len(log.data).to_bytes(3, "big")
    return b"".join((bytes((form,)), size, log.emitter, *log.topics, log.data))


@dataclass(frozen=True, slots=True)
class EventGroup:
    """The facts that a group of a witness proves of a block with this root in its header."""

    field: HeaderField
    block: int | None  # if the witness names it
    root: bytes  # of a trie, or the hash of a bloom
    facts: tuple[tuple[BlockFact, bytes], ...]  # with their words
    content: bytes  # its encoding without field and block
    logs: tuple[tuple[BlockFact, Log], ...]  # the logs, for facts of kind LOG

    def matches(self, header: Header) -> bool:
        """True if the header has this root."""
        return header.has_field(self.field) and header.word(self.field) == self.root

    @property
    def words(self) -> dict[BlockFact, bytes]:
        return dict(self.facts)


EventGroups = tuple[EventGroup, ...]


def read_event_witness(content: bytes, *, has_blocks: bool = False) -> EventGroups:
    """Read the groups of a witness, which names blocks if no section states their header fields."""
    source, groups = WitnessReader(content), list[EventGroup]()
    counts = [source.number(2) for _ in EventList]
    while source.position < len(content):
        number = source.number(1)
        if number not in EVENT_FIELDS:
            raise WitnessMalformedError(f"no events are proven under header field {number}")
        block, start = source.number(8) if has_blocks else None, source.position
        reader = _GroupReader(source, HeaderField(number))
        try:
            root, facts, logs = reader.read_root(), tuple(reader.facts), tuple(reader.logs)
        except IndexError:
            raise WitnessMalformedError("a path has more nibbles than an index") from None
        part = content[start : source.position]
        groups.append(EventGroup(reader.field, block, root, facts, part, logs))
    if not groups:
        raise WitnessMalformedError("the witness has no groups")
    if counts != _count_facts_in_groups(groups):
        raise WitnessMalformedError("the witness does not have as many facts as it states")
    return tuple(groups)


def select_groups(
    witnesses: Iterable[EventGroups], header: Header, facts: Iterable[BlockFact]
) -> tuple[list[EventGroups], list[BlockFact]]:
    """The groups that prove these facts of the block, and the facts that none proves."""
    selected, missing_facts = list[EventGroups](), dict.fromkeys(facts)
    for groups in witnesses:
        useful_groups = {
            group.field: group
            for group in groups
            if group.matches(header) and group.words.keys() & missing_facts.keys()
        }
        for fact in [fact for group in useful_groups.values() for fact in group.words]:
            missing_facts.pop(fact, None)
        if useful_groups:
            selected.append(tuple(useful_groups[field] for field in sorted(useful_groups)))
    return sorted(selected, key=encode_event_groups), list(missing_facts)


def encode_event_groups(groups: Sequence[EventGroup]) -> bytes:
    """The witness of groups that were read, without the blocks that it may have named."""
    counts = map(encode_uint16, _count_facts_in_groups(groups))
    return b"".join((*counts, *(bytes((group.field,)) + group.content for group in groups)))


def _count_facts_in_groups(groups: Sequence[EventGroup]) -> list[int]:
    return count_facts(fact for group in groups for fact, _ in group.facts)


class _IndexWalk(TrieWalk):
    """A walk through a trie whose keys are indexes, with foreign leaves of any length."""

    def _foreign_leaf(self, keys: range, depth: int) -> bytes:
        path = self._foreign_path(keys, depth, self._read_nibble_count(depth))
        return Leaf(path, self.source.take(self.source.number(3))).encode()


class _GroupReader:
    """Reads a group, and collects its facts."""

    def __init__(self, source: WitnessReader, field: HeaderField) -> None:
        self.source, self.field, self.facts = source, field, list[tuple[BlockFact, bytes]]()
        self.logs = list[tuple[BlockFact, Log]]()

    def read_root(self) -> bytes:
        if self.field is HeaderField.LOGS_BLOOM:
            return self._read_bloom()
        indexes = [self.source.number(2) for _ in range(self.source.number(2))]
        paths = list(map(index_path, indexes))
        check_ascending(paths)
        if not paths:
            raise WitnessMalformedError("a group names no index")
        is_withdrawal = self.field is HeaderField.WITHDRAWALS_ROOT
        absence = FactKind.ABSENT_WITHDRAWAL if is_withdrawal else FactKind.ABSENT_TRANSACTION

        def read_leaf(position: int) -> bytes:
            return self._read_item(indexes[position])

        def mark_absent(position: int) -> None:
            self._add_fact(BlockFact(absence, indexes[position]))

        return _IndexWalk(self.source, paths, read_leaf, mark_absent).root()

    def _add_fact(self, fact: BlockFact, word: bytes = ABSENCE_WORD) -> None:
        self.facts.append((fact, word))

    def _read_bloom(self) -> bytes:
        bloom = self.source.take(BLOOM_BYTES)
        for _ in range(self.source.number(2)):
            item = self.source.take(HASH_BYTES if self.source.number(1) else ADDRESS_BYTES)
            if not bloom_excludes(bloom, item):
                raise NotAbsentError(f"the bloom does not exclude 0x{item.hex()}")
            self._add_fact(BlockFact(FactKind.SILENT_BLOCK, item=item))
        return keccak256(bloom)

    def _read_item(self, index: int) -> bytes:
        if self.field is HeaderField.TRANSACTIONS_ROOT:
            return self._read_transaction(index)
        if self.field is HeaderField.RECEIPTS_ROOT:
            return self._read_receipt(index).encoding
        number, validator = self.source.number(8), self.source.number(8)
        recipient, amount = self.source.take(ADDRESS_BYTES), self.source.number(8)
        withdrawal = Withdrawal(number, validator, recipient, amount)
        self._add_fact(BlockFact(FactKind.WITHDRAWAL, index), withdrawal.hash)
        return withdrawal.encode()

    def _read_transaction(self, index: int) -> bytes:
        envelope = self.source.take(self.source.number(3))
        if not (b"\x01" <= envelope[:1] <= bytes((NEWEST_TYPE,)) or is_list(envelope)):
            raise WitnessMalformedError(f"the type of transaction {index} is not known")
        self._add_fact(BlockFact(FactKind.TRANSACTION, index), keccak256(envelope))
        return envelope

    def _read_receipt(self, index: int) -> Receipt:
        source = self.source
        transaction_type, form = source.number(1), source.number(1)
        if transaction_type > NEWEST_TYPE:
            raise WitnessMalformedError(f"the type of transaction {index} is not known")
        gas = source.number(check_length(source.number(1))) % 2**64  # as the contract does
        status: int | bytes = form & ~(IS_FACT | BLOOM_SENT)
        if status == STATE_ROOT_STATUS:
            status = source.take(HASH_BYTES)
        bloom = source.take(BLOOM_BYTES) if form & BLOOM_SENT else None
        logs = tuple(self._read_log(index, log_index) for log_index in range(source.number(2)))
        if bloom not in {None, logs_bloom(logs)}:
            raise WitnessMalformedError(f"the bloom of receipt {index} is not that of its logs")
        receipt = Receipt(transaction_type, status, gas, logs)
        if form & IS_FACT:
            self._add_fact(BlockFact(FactKind.RECEIPT, index), receipt.word)
        for _ in range(source.number(1)):
            log_filter = self._read_filter()
            if any(map(log_filter.matches, logs)):
                raise NotAbsentError(f"receipt {index} has a log that is said to be absent")
            self._add_fact(BlockFact(FactKind.ABSENT_LOG, index, filter=log_filter))
        return receipt

    def _read_log(self, index: int, log_index: int) -> Log:
        form, size = self.source.number(1), self.source.number(3)
        emitter = self.source.take(ADDRESS_BYTES)
        topics = tuple(self.source.take(HASH_BYTES) for _ in range(form & ~IS_FACT))
        log = Log(emitter, topics, self.source.take(size))
        if form & IS_FACT:
            fact = BlockFact(FactKind.LOG, index, log=log_index)
            self._add_fact(fact, log.hash)
            self.logs.append((fact, log))
        return log

    def _read_filter(self) -> LogFilter:
        emitter, mask = self.source.take(ADDRESS_BYTES), self.source.number(1)
        # As in the contract, bits 4 to 7 count too: a log has no such topics, so it does not match.
        topics = [self.source.take(HASH_BYTES) if mask >> i & 1 else None for i in range(8)]
        return canonical_filter(emitter, topics)


def prove_events_call(section: bytes, witness: bytes) -> bytes:
    """The calldata of the events verifier's `prove(bytes,bytes)`."""
    first, offset = _encode_bytes(section), 2 * HASH_BYTES
    offsets = number_word(offset) + number_word(offset + len(first))
    return PROVE_EVENTS_SELECTOR + offsets + first + _encode_bytes(witness)


def _encode_bytes(content: bytes) -> bytes:
    return number_word(len(content)) + content + bytes(-len(content) % HASH_BYTES)
