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

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter

from queries.proving.block_items import BlockItem, Log, encode_item
from queries.proving.errors import WitnessMalformedError
from queries.proving.facts.absences import encode_bloom_group, read_bloom_group
from queries.proving.facts.events import (
    ABSENCE_WORD,
    BlockLists,
    EventFact,
    EventList,
    ItemFact,
    ItemLeaf,
)
from queries.proving.facts.kinds import END_KINDS, EVENT_FIELDS, ITEM_KINDS
from queries.proving.headers import Header, HeaderField
from queries.proving.index_tries import IndexTrie, index_path
from queries.proving.keccak import HASH_BYTES, keccak256, number_word
from queries.proving.tries import Leaf
from queries.proving.witness_reading import TrieWalk, check_ascending
from queries.proving.witnesses import Key, WitnessReader, encode_nodes, encode_uint16

PROVE_EVENTS_SELECTOR = keccak256(b"prove(bytes,bytes)")[:4]

_field = attrgetter("field")


def build_event_witness(
    content: BlockLists, facts: Iterable[EventFact], block: int | None = None
) -> bytes:
    """Encode these facts of a block, with its number if no section states its header fields."""
    sorted_facts = sorted(facts, key=_field)
    number = b"" if block is None else block.to_bytes(8, "big")
    parts = [*map(encode_uint16, count_facts(sorted_facts))]
    for field, group in groupby(sorted_facts, _field):
        own_facts = list(group)
        if field is HeaderField.LOGS_BLOOM:
            encoding = encode_bloom_group(content.bloom, own_facts)
        else:
            encoding = encode_list_group(field, content.items(field), own_facts)
        parts += [bytes((field,)), number, encoding]
    return b"".join(parts)


def count_facts(facts: Iterable[EventFact]) -> list[int]:
    """Count the facts in each `EventList`."""
    counts = Counter(fact.event_list for fact in facts)
    return [counts[event_list] for event_list in EventList]


def encode_list_group(
    field: HeaderField, items: Sequence[BlockItem], facts: Iterable[EventFact]
) -> bytes:
    """Encode facts about a list of a block; indexes at its end or beyond are proven absent."""
    trie, kind = IndexTrie(list(map(encode_item, items))), ITEM_KINDS[field]
    facts_by_index = defaultdict[int, list[EventFact]](list)
    for fact in facts:
        facts_by_index[fact.key].append(fact)

    def encode_leaf(index: int) -> bytes:
        return kind.encode_leaf(items[index], facts_by_index[index])

    indexes = sorted(facts_by_index, key=index_path)
    keys = [
        Key(index_path(index), trie.path(index), partial(encode_leaf, index), is_index=True)
        for index in indexes
    ]
    encoded_indexes = b"".join(map(encode_uint16, (len(indexes), *indexes)))
    return encoded_indexes + encode_nodes(keys)


@dataclass(frozen=True, slots=True)
class EventGroup:
    """The facts that a group of a witness proves of a block with this root in its header."""

    field: HeaderField
    block: int | None  # if the witness names it
    root: bytes  # of a trie, or the hash of a bloom
    facts: tuple[tuple[EventFact, bytes], ...]  # with their words
    content: bytes  # its encoding without field and block
    logs: tuple[tuple[EventFact, Log], ...]  # the logs, for facts about logs

    def matches(self, header: Header) -> bool:
        """True if the header has this root."""
        return header.has_field(self.field) and header.word(self.field) == self.root

    @property
    def words(self) -> dict[EventFact, bytes]:
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
        block = source.number(8) if has_blocks else None
        try:
            groups.append(_read_group(source, HeaderField(number), block))
        except IndexError:
            raise WitnessMalformedError("a path has more nibbles than an index") from None
    if not groups:
        raise WitnessMalformedError("the witness has no groups")
    if counts != _count_facts_in_groups(groups):
        raise WitnessMalformedError("the witness does not have as many facts as it states")
    return tuple(groups)


def select_groups(
    witnesses: Iterable[EventGroups], header: Header, facts: Iterable[EventFact]
) -> tuple[list[EventGroups], list[EventFact]]:
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


def _read_group(source: WitnessReader, field: HeaderField, block: int | None) -> EventGroup:
    start = source.position
    if field is HeaderField.LOGS_BLOOM:
        root, leaves = read_bloom_group(source)
    else:
        root, leaves = _read_list_group(source, ITEM_KINDS[field], END_KINDS[field])
    facts = tuple(fact for leaf in leaves for fact in leaf.facts)
    logs = tuple(log for leaf in leaves for log in leaf.logs)
    return EventGroup(field, block, root, facts, source.content[start : source.position], logs)


def _read_list_group(
    source: WitnessReader, kind: type[ItemFact], end_kind: type[EventFact]
) -> tuple[bytes, list[ItemLeaf]]:
    indexes = [source.number(2) for _ in range(source.number(2))]
    paths, leaves = list(map(index_path, indexes)), list[ItemLeaf]()
    check_ascending(paths)
    if not paths:
        raise WitnessMalformedError("a group names no index")

    def read_leaf(position: int) -> bytes:
        leaves.append(kind.read_leaf(source, indexes[position]))
        return leaves[-1].encoding

    def mark_absent(position: int) -> None:
        leaves.append(ItemLeaf(b"", [(end_kind(indexes[position]), ABSENCE_WORD)]))

    return _IndexWalk(source, paths, read_leaf, mark_absent).root(), leaves


def prove_events_call(section: bytes, witness: bytes) -> bytes:
    """The calldata of the events verifier's `prove(bytes,bytes)`."""
    first, offset = _encode_bytes(section), 2 * HASH_BYTES
    offsets = number_word(offset) + number_word(offset + len(first))
    return PROVE_EVENTS_SELECTOR + offsets + first + _encode_bytes(witness)


def _encode_bytes(content: bytes) -> bytes:
    return number_word(len(content)) + content + bytes(-len(content) % HASH_BYTES)
