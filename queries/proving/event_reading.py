"""Read a witness of events like the events verifier: rebuild the roots, and return what it proves.

The inverse of `event_witnesses`. The result holds for every block whose header has these roots,
which the caller has to compare.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.block_items import (
    BLOOM_BYTES,
    MAX_TOPICS,
    NEWEST_TYPE,
    STATE_ROOT_STATUS,
    Log,
    Receipt,
    Withdrawal,
    is_silent,
    logs_bloom,
)
from queries.proving.errors import CallMalformedError, NotAbsentError, WitnessMalformedError
from queries.proving.event_witnesses import BLOOM_SENT, IS_FACT, FactList, count_facts
from queries.proving.facts import (
    ABSENCE_WORD,
    EVENT_FIELDS,
    EventFact,
    FactKind,
    LogFilter,
    canonical_filter,
)
from queries.proving.headers import Header, HeaderField
from queries.proving.index_tries import index_path
from queries.proving.keccak import HASH_BYTES, keccak256, number_word
from queries.proving.rlp_items import is_list
from queries.proving.tries import Leaf
from queries.proving.witness_reading import TrieWalk, check_ascending, check_length
from queries.proving.witnesses import WitnessBytes

PROVE_EVENTS_SELECTOR = keccak256(b"prove(bytes,bytes)")[:4]


@dataclass(frozen=True, slots=True)
class EventGroup:
    """What a group of a witness proves of a block with this root in its header."""

    field: HeaderField
    block: int | None  # if the witness names it
    root: bytes  # of a trie, or the hash of a bloom
    facts: tuple[tuple[EventFact, bytes], ...]  # with their words
    content: bytes  # its encoding without field and block
    logs: tuple[tuple[EventFact, Log], ...]  # of those facts that are about one

    def is_of(self, header: Header) -> bool:
        """Whether the header has this root."""
        return header.has_field(self.field) and header.word(self.field) == self.root

    @property
    def words(self) -> dict[EventFact, bytes]:
        return dict(self.facts)


EventWitness = tuple[EventGroup, ...]


def read_event_witness(content: bytes, *, has_blocks: bool = False) -> EventWitness:
    """Read the groups of a witness, which names blocks if no section states their header fields."""
    source, groups = WitnessBytes(content), list[EventGroup]()
    counts = [source.number(2) for _ in FactList]
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
    if counts != _count_facts(groups):
        raise WitnessMalformedError("the witness does not have as many facts as it states")
    return tuple(groups)


def encode_event_groups(groups: Sequence[EventGroup]) -> bytes:
    """The witness of groups that were read, without the blocks that it may have named."""
    counts = (count.to_bytes(2, "big") for count in _count_facts(groups))
    return b"".join((*counts, *(bytes((group.field,)) + group.content for group in groups)))


def _count_facts(groups: Sequence[EventGroup]) -> list[int]:
    return count_facts(fact for group in groups for fact, _ in group.facts)


class _IndexWalk(TrieWalk):
    """A walk through a trie whose keys are indexes, with foreign leaves of any length."""

    def _chain(self, _keys: range, _depth: int) -> bytes:
        raise WitnessMalformedError("a trie of indexes has no chain")

    def _foreign_leaf(self, keys: range, depth: int) -> bytes:
        path = self._foreign_path(keys, depth, self._read_nibble_count(depth))
        return Leaf(path, self.source.take(self.source.number(3))).encode()


class _GroupReader:
    """Reads a group, and collects its facts."""

    def __init__(self, source: WitnessBytes, field: HeaderField) -> None:
        self.source, self.field, self.facts = source, field, list[tuple[EventFact, bytes]]()
        self.logs = list[tuple[EventFact, Log]]()

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
            self._keep(EventFact(absence, indexes[position]))

        return _IndexWalk(self.source, paths, read_leaf, mark_absent, {}).root()

    def _keep(self, fact: EventFact, word: bytes = ABSENCE_WORD) -> None:
        self.facts.append((fact, word))

    def _read_bloom(self) -> bytes:
        bloom = self.source.take(BLOOM_BYTES)
        for _ in range(self.source.number(2)):
            item = self.source.take(HASH_BYTES if self.source.number(1) else ADDRESS_BYTES)
            if not is_silent(bloom, item):
                raise NotAbsentError(f"the bloom does not exclude 0x{item.hex()}")
            self._keep(EventFact(FactKind.SILENT_BLOCK, item=item))
        return keccak256(bloom)

    def _read_item(self, index: int) -> bytes:
        if self.field is HeaderField.TRANSACTIONS_ROOT:
            return self._read_transaction(index)
        if self.field is HeaderField.RECEIPTS_ROOT:
            return self._read_receipt(index).encoded
        number, validator = self.source.number(8), self.source.number(8)
        recipient, amount = self.source.take(ADDRESS_BYTES), self.source.number(8)
        withdrawal = Withdrawal(number, validator, recipient, amount)
        self._keep(EventFact(FactKind.WITHDRAWAL, index), withdrawal.hash)
        return withdrawal.encode()

    def _read_transaction(self, index: int) -> bytes:
        envelope = self.source.take(self.source.number(3))
        if not (b"\x01" <= envelope[:1] <= bytes((NEWEST_TYPE,)) or is_list(envelope)):
            raise WitnessMalformedError(f"the type of transaction {index} is not known")
        self._keep(EventFact(FactKind.TRANSACTION, index), keccak256(envelope))
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
        logs = tuple(self._read_log(index, place) for place in range(source.number(2)))
        if bloom not in {None, logs_bloom(logs)}:
            raise WitnessMalformedError(f"the bloom of receipt {index} is not that of its logs")
        receipt = Receipt(transaction_type, status, gas, logs)
        if form & IS_FACT:
            self._keep(EventFact(FactKind.RECEIPT, index), receipt.word)
        for _ in range(source.number(1)):
            absent = self._read_filter()
            if any(map(absent.matches, logs)):
                raise NotAbsentError(f"receipt {index} has a log that is said to be absent")
            self._keep(EventFact(FactKind.ABSENT_LOG, index, filter=absent))
        return receipt

    def _read_log(self, index: int, place: int) -> Log:
        form, size = self.source.number(1), self.source.number(3)
        emitter = self.source.take(ADDRESS_BYTES)
        topics = tuple(self.source.take(HASH_BYTES) for _ in range(form & ~IS_FACT))
        log = Log(emitter, topics, self.source.take(size))
        if form & IS_FACT:
            fact = EventFact(FactKind.LOG, index, place)
            self._keep(fact, log.hash)
            self.logs.append((fact, log))
        return log

    def _read_filter(self) -> LogFilter:
        emitter, mask = self.source.take(ADDRESS_BYTES), self.source.number(1)
        if mask >> MAX_TOPICS:
            raise WitnessMalformedError(f"an absent log has more than {MAX_TOPICS} topics")
        places = range(MAX_TOPICS)
        topics = [self.source.take(HASH_BYTES) if mask >> place & 1 else None for place in places]
        return canonical_filter(emitter, topics)


def prove_events_call(section: bytes, witness: bytes) -> bytes:
    """The calldata of the events verifier's `prove(bytes,bytes)`."""
    first, offset = _encode_bytes(section), 2 * HASH_BYTES
    offsets = number_word(offset) + number_word(offset + len(first))
    return PROVE_EVENTS_SELECTOR + offsets + first + _encode_bytes(witness)


def read_events_call(data: bytes) -> tuple[bytes, bytes]:
    """The section and the witness in the calldata, which must be encoded as Solidity does."""
    source = WitnessBytes(data, len(PROVE_EVENTS_SELECTOR) + 2 * HASH_BYTES)
    section = source.take(source.number(HASH_BYTES))
    source.take(-len(section) % HASH_BYTES)
    witness = source.take(source.number(HASH_BYTES))
    if data != prove_events_call(section, witness):
        raise CallMalformedError("the calldata is not that of prove(bytes,bytes)")
    return section, witness


def _encode_bytes(content: bytes) -> bytes:
    return number_word(len(content)) + content + bytes(-len(content) % HASH_BYTES)
