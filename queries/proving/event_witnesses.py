"""Encode the witness of an EventsVerifier: what blocks contain, in few bytes.

    witness  7 times uint16 number of facts in each list of `EventFacts`, then groups
    group    uint8 header field; uint64 block number, unless a section states the field;
             of a list: uint16 indexes, uint16 each, the nodes of its trie
             of a bloom: 256 bytes, uint16 items, each uint8 0 and 20 emitter, or 1 and 32 topic

`IndexTrie.sol` describes the nodes, `BlockItems.sol` what stands at a leaf.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from queries.proving.block_items import (
    STATE_ROOT_STATUS,
    BlockItem,
    Log,
    Receipt,
    encode_item,
    logs_bloom,
)
from queries.proving.facts import EventFact, FactKind
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie, index_path
from queries.proving.keccak import HASH_BYTES
from queries.proving.rlp_items import integer_payload
from queries.proving.witnesses import Key, encode_nodes

BLOOM_SENT = 0x40
IS_FACT = 0x80
# With more emitters and topics in a receipt it is cheaper to send the bloom than to derive it.
MAX_DERIVED_ITEMS = 30

_field = attrgetter("field")


class FactList(IntEnum):
    """The lists of `EventFacts`."""

    LOGS = 0
    RECEIPTS = 1
    TRANSACTIONS = 2
    WITHDRAWALS = 3
    ABSENT_INDEXES = 4
    ABSENT_LOGS = 5
    SILENT_BLOCKS = 6


class BlockLists(Protocol):
    """A block whose content is known."""

    def items(self, field: HeaderField) -> Sequence[BlockItem]:
        """The list to whose trie this header field commits."""

    @property
    def bloom(self) -> bytes: ...


def build_event_witness(
    content: BlockLists, facts: Iterable[EventFact], block: int | None = None
) -> bytes:
    """Encode these facts of a block, with its number if no section states its header fields."""
    ordered = sorted(facts, key=_field)
    number = b"" if block is None else block.to_bytes(8, "big")
    parts = [*map(_encode_count, count_facts(ordered))]
    for field, group in groupby(ordered, _field):
        own_facts = list(group)
        if field is HeaderField.LOGS_BLOOM:
            encoded = encode_bloom_group(content.bloom, [fact.item for fact in own_facts])
        else:
            encoded = encode_list_group(content.items(field), own_facts)
        parts += [bytes((field,)), number, encoded]
    return b"".join(parts)


def count_facts(facts: Iterable[EventFact]) -> list[int]:
    """Count the facts in each `FactList`; a list's name is the plural of its kind."""
    counts = Counter(f"{fact.kind}S" for fact in facts)
    counts["ABSENT_INDEXES"] = counts["ABSENT_TRANSACTIONS"] + counts["ABSENT_WITHDRAWALS"]
    return [counts[kind.name] for kind in FactList]


def encode_bloom_group(bloom: bytes, items: Sequence[bytes]) -> bytes:
    """Encode emitters and topics that a block's bloom shows to be absent."""
    parts = (bytes((len(item) == HASH_BYTES,)) + item for item in items)
    return b"".join((bloom, _encode_count(len(items)), *parts))


def encode_list_group(items: Sequence[BlockItem], facts: Sequence[EventFact]) -> bytes:
    """Encode facts about a list of a block; indexes at its end or beyond are proven absent."""
    trie = IndexTrie(list(map(encode_item, items)))
    indexes = sorted({fact.index for fact in facts}, key=index_path)
    keys = [
        Key(
            index_path(index),
            trie.path(index),
            partial(encode_leaf, items, facts, index),
            is_index=True,
        )
        for index in indexes
    ]
    named = b"".join(map(_encode_count, (len(indexes), *indexes)))
    return named + encode_nodes(keys)


def encode_leaf(items: Sequence[BlockItem], facts: Sequence[EventFact], index: int) -> bytes:
    """Encode the item at this index, and which facts of it are proven."""
    item = items[index]
    if isinstance(item, bytes):
        return len(item).to_bytes(3, "big") + item
    if isinstance(item, Receipt):
        return _encode_receipt(item, [fact for fact in facts if fact.index == index])
    number, validator = item.index.to_bytes(8, "big"), item.validator.to_bytes(8, "big")
    return number + validator + item.recipient + item.amount.to_bytes(8, "big")


def _encode_receipt(receipt: Receipt, facts: Sequence[EventFact]) -> bytes:
    is_fact = any(fact.kind is FactKind.RECEIPT for fact in facts)
    logs = {fact.log for fact in facts if fact.kind is FactKind.LOG}
    absent = [fact.filter.encode() for fact in facts if fact.filter]
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
            _encode_count(len(receipt.logs)),
            *(_encode_log(log, is_fact=i in logs) for i, log in enumerate(receipt.logs)),
            bytes((len(absent),)),
            *absent,
        )
    )


def _encode_log(log: Log, *, is_fact: bool) -> bytes:
    form = len(log.topics) | IS_FACT * is_fact
    size = len(log.data).to_bytes(3, "big")
    return b"".join((bytes((form,)), size, log.emitter, *log.topics, log.data))


def _encode_count(number: int) -> bytes:
    return number.to_bytes(2, "big")
