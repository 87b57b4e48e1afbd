"""Groups of a witness with the true nodes of a block, encoded otherwise, and with some lies.

A forger knows the block and wants its roots with another fact below them. So every node is one of
the block's own; made up is what else a witness may choose: kinds, indexes, paths, forms, filters.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from queries.proving.block_items import BLOOM_BYTES, STATE_ROOT_STATUS, Log, Receipt
from queries.proving.facts.events import IS_FACT, EventList
from queries.proving.facts.logs import LogFilter
from queries.proving.facts.receipts import BLOOM_SENT
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrieNode, index_path
from queries.proving.keccak import HASH_BYTES
from queries.proving.tries import NO_CHILD, Branch, Extension, Leaf
from queries.proving.witnesses import NodeKind
from tests.queries.contracts.recorded_events import (
    BLOOM,
    RECEIPTS,
    TRANSACTIONS,
    RecordedBlock,
    bloom_of,
    may_have,
)
from tests.queries.events.groups import Group
from tests.queries.events.random_blocks import EDGES, Sources

_MAX_FOREIGN_NIBBLES = 6
_LIES = (
    "indexes", "masks", "foreign extension", "passing", "passing", "length", "owner", "owner",
    "foreign leaf", "foreign leaf", "path", "value",
)  # fmt: skip
_LIES_OF_FIELDS = {BLOOM: ("item", "bloom"), RECEIPTS: (*_LIES, *("filter", "status") * 3)}


def random_indexes(chosen: Random, length: int) -> list[int]:
    """Some indexes of a list, at its end and beyond, in the order of a witness."""
    near = (*(edge for edge in EDGES if edge <= length + 1), length, length + 1, 65_535)
    present = [length - 1, *(chosen.randrange(length) for _ in range(4))] if length else []
    indexes = chosen.choices([*near, *present], k=chosen.choice((1, 1, 2, 2, 3, 4, 6)))
    if chosen.random() < 0.4:  # whose paths agree for long
        indexes += [max(index - 1, 0) for index in indexes]
    if chosen.random() < 0.15:  # none of which is there
        indexes = [max(index, length) for index in indexes]
    return sorted(set(indexes), key=index_path)


def random_filter(chosen: Random, sources: Sources, logs: Sequence[Log]) -> LogFilter:
    """A filter of logs that may match some of these."""
    log = chosen.choice(logs) if logs else Log(chosen.choice(sources.emitters), (), b"")
    topics = [
        chosen.choice((topic, topic, None, chosen.choice(sources.topics)))
        for topic in (*log.topics, *chosen.sample(sources.topics, chosen.randrange(2)))
    ]
    return LogFilter(chosen.choice((log.emitter, chosen.choice(sources.emitters))), tuple(topics))


class LyingGroup(Group):
    """Facts under a root of a block; without lies all are true."""

    def __init__(
        self, chosen: Random, sources: Sources, block: RecordedBlock, field: HeaderField, lies: int
    ) -> None:
        self.field, self.counts = field, Counter[EventList]()
        self._chosen, self._sources, self._block, self._lies = chosen, sources, block, lies
        self._lie = chosen.choice(_LIES_OF_FIELDS.get(field, _LIES))
        self._content = self._bloom() if field is BLOOM else self._list()

    def encode(self) -> bytes:
        return self._content

    def _lies_here(self, lie: str) -> bool:
        """Lie rarely, and mostly in one way: with another root nothing is claimed."""
        if not self._lies or self._chosen.random() > (0.7 if lie == self._lie else 0.02):
            return False
        self._lies -= 1
        return True

    def _maybe(self) -> bool:
        return self._chosen.random() < 0.5

    # A bloom

    def _bloom(self) -> bytes:
        bloom, parts = self._block.header.payload(BLOOM), list[bytes]()
        items = [*self._sources.emitters, *self._sources.topics]
        items += [self._chosen.randbytes(size) for size in (20, 32)]
        for item in self._chosen.choices(items, k=self._chosen.randrange(5)):
            if not may_have(bloom, item) or self._lies_here("item"):
                mark = self._chosen.choice((1, 2, 255)) if len(item) == HASH_BYTES else 0
                parts.append(bytes((mark,)) + item)
        self.counts[EventList.SILENT_BLOCKS] = len(parts)
        if self._lies_here("bloom"):
            bloom = self._chosen.choice((bytes(BLOOM_BYTES), bloom_of(self._block.receipts[:1])))
        return b"".join((bloom, _uint16(len(parts)), *parts))

    # A list

    def _list(self) -> bytes:
        values = self._block.values(self.field)
        indexes = random_indexes(self._chosen, len(values))
        if self._lie == "passing" and len(values) > 1:  # the last ones share most nibbles
            indexes = [len(values) - 2, len(values) - 1]
        if self._lies_here("indexes"):
            other = self._chosen.choice(indexes)
            indexes = self._chosen.choice(
                (
                    sorted([*indexes, other], key=index_path),  # twice
                    indexes[::-1],
                    [index ^ self._chosen.choice((1, 0x80, 0x100)) for index in indexes],
                    [],
                )
            )
        self._indexes, self._paths = indexes, list(map(index_path, indexes))
        top, keys = self._block.tries[self.field].top, range(len(indexes))
        nodes = self._node(top, keys, "") if top else self._none(keys)
        return b"".join((*map(_uint16, (len(indexes), *indexes)), nodes))

    def _absent(self, count: int) -> None:
        self.counts[EventList.ABSENT_INDEXES] += max(count, 0)

    def _none(self, keys: range) -> bytes:
        self._absent(len(keys))
        return bytes((NodeKind.NONE,))

    def _matching(self, keys: range, path: str) -> range:
        """The keys that begin with `path`."""
        matches = [key for key in keys if self._paths[key].startswith(path)]
        return range(matches[0], matches[-1] + 1) if matches else range(0)

    def _node(self, top: IndexTrieNode, keys: range, above: str) -> bytes:
        if isinstance(top.node, Branch):
            return self._branch(top, top.node, keys, above)
        if isinstance(top.node, Extension):
            return self._extension(top, top.node, keys, above)
        return self._leaf(top.node, keys, above)

    def _branch(self, top: IndexTrieNode, node: Branch, keys: range, above: str) -> bytes:
        present = embedded = 0
        parts = []
        for nibble, child in enumerate(node.children):
            digit = f"{nibble:x}"
            below = self._matching(keys, above + digit)
            if child == NO_CHILD:
                # An empty place may be declared to have a node: none.
                if below and self._maybe():
                    present |= 1 << nibble
                    parts.append(self._none(below))
                else:
                    self._absent(len(below))
                continue
            present |= 1 << nibble
            if below:
                parts.append(self._node(top.children[digit], below, above + digit))
            else:
                embedded |= (len(child) < HASH_BYTES) << nibble
                parts.append(child)
        masks: list[tuple[NodeKind, tuple[int, ...]]] = [(NodeKind.MIXED, (present, embedded))]
        if not embedded:
            masks.append((NodeKind.BRANCH, (present,)))
            masks += [(NodeKind.FULL, ())] * (present == 0xFFFF)
        if self._lies_here("masks"):
            masks = [(NodeKind.MIXED, (present, self._chosen.getrandbits(16)))]
        kind, numbers = self._chosen.choice(masks)
        return b"".join((bytes((kind,)), *map(_uint16, numbers), *parts))

    def _extension(self, top: IndexTrieNode, node: Extension, keys: range, above: str) -> bytes:
        passing = self._matching(keys, above + node.path)
        if not passing or self._lies_here("foreign extension"):
            self._absent(len(keys))
            child = node.child if len(node.child) < HASH_BYTES else b"\0" + node.child
            return bytes((NodeKind.MISS,)) + self._foreign_path(node.path) + child
        which = self._chosen.choice(passing)
        if len(passing) > 1 and self._lies_here("passing"):  # not all of them pass
            passing = range(which, which + 1)
        self._absent(len(keys) - len(passing))
        below = self._node(top.children[node.path], passing, above + node.path)
        nibbles = len(node.path) + (
            self._chosen.choice((-1, 1)) if self._lies_here("length") else 0
        )
        return b"".join((_kind_of(NodeKind.PASS, which - keys.start), bytes((nibbles,)), below))

    def _leaf(self, node: Leaf, keys: range, above: str) -> bytes:
        owners = [key for key in keys if self._paths[key] == above + node.path]
        if self._lies_here("owner"):  # the value of another index
            owners = [self._chosen.randrange(keys.start, keys.stop + 2)] if keys else owners
        elif owners and self._lies_here("foreign leaf"):
            owners = []
        if not owners:
            self._absent(len(keys))
            size = len(node.value).to_bytes(3)
            return bytes((NodeKind.OTHER,)) + self._foreign_path(node.path) + size + node.value
        self._absent(owners[0] - keys.start)
        self._absent(keys.stop - owners[0] - 1)
        head, *rest = bytes.fromhex(above + node.path)
        index = head if head < 0x80 else int.from_bytes(rest)
        return _kind_of(NodeKind.LEAF, owners[0] - keys.start) + self._value(index)

    def _foreign_path(self, path: str) -> bytes:
        """The path in whole bytes, with any spare nibble in front, which is not part of it."""
        if self._lies_here("path"):
            path = self._chosen.choice((path + "0", "0" + path, path[1:], path[:-1]))
        path = path[:_MAX_FOREIGN_NIBBLES]
        spare = self._chosen.choice("03f") * (len(path) % 2)
        return bytes((len(path),)) + bytes.fromhex(spare + path)

    # Items

    def _value(self, index: int) -> bytes:
        if self.field is TRANSACTIONS:
            self.counts[EventList.TRANSACTIONS] += 1
            envelope = self._block.transactions[index]
            if self._lies_here("value"):
                kind = bytes((self._chosen.randrange(6),))
                changed = (envelope[1:], kind + envelope, kind + envelope[1:], envelope + b"\0")
                envelope = self._chosen.choice(changed)
            return len(envelope).to_bytes(3) + envelope
        if self.field is RECEIPTS:
            return self._receipt(self._block.receipts[index])
        self.counts[EventList.WITHDRAWALS] += 1
        item = self._block.withdrawals[index]
        if self._lies_here("value"):
            item = self._chosen.choice(
                (
                    replace(item, index=item.validator, validator=item.index),
                    replace(item, validator=item.amount, amount=item.validator),
                    replace(item, amount=item.amount ^ 1),
                    replace(item, recipient=self._chosen.choice(self._sources.emitters)),
                )
            )
        parts = (item.index.to_bytes(8), item.validator.to_bytes(8), item.recipient)
        return b"".join((*parts, item.amount.to_bytes(8)))

    def _receipt(self, receipt: Receipt) -> bytes:
        if self._lies_here("value"):
            receipt = self._other_receipt(receipt)
        is_root = isinstance(receipt.status, bytes)
        form = STATE_ROOT_STATUS if isinstance(receipt.status, bytes) else receipt.status
        root = receipt.status if isinstance(receipt.status, bytes) else b""
        if self._lies_here("status"):
            form, root = (0, root) if is_root else (STATE_ROOT_STATUS, bytes(31) + b"\1")
        is_bloom_sent, is_fact = self._maybe(), self._maybe()
        self.counts[EventList.RECEIPTS] += is_fact
        form |= BLOOM_SENT * is_bloom_sent | IS_FACT * is_fact
        absent = [
            filter_
            for filter_ in self._filters(receipt)
            if not any(map(filter_.matches, receipt.logs)) or self._lies_here("filter")
        ]
        self.counts[EventList.ABSENT_LOGS] += len(absent)
        parts = (
            bytes((receipt.transaction_type, form)),
            self._gas(receipt.cumulative_gas),
            root,
            bloom_of([receipt]) * is_bloom_sent,
            _uint16(len(receipt.logs)),
            *map(self._log, receipt.logs),
            bytes((len(absent),)),
            *(filter_.encode() for filter_ in absent),
        )
        return b"".join(parts)

    def _filters(self, receipt: Receipt) -> list[LogFilter]:
        count = self._chosen.choice((0, 0, 1, 2))
        filters = [random_filter(self._chosen, self._sources, receipt.logs) for _ in range(count)]
        if self._lie == "filter" and receipt.logs:
            log = self._chosen.choice(receipt.logs)
            filters.append(LogFilter(log.emitter, log.topics[: self._chosen.randrange(5)]))
        return filters

    def _gas(self, gas: int) -> bytes:
        """Numbers may have zeros in front, and the contract drops what exceeds 64 bits."""
        length = max((gas.bit_length() + 7) // 8, self._chosen.choice((0, 0, 0, 8, 9, 32)))
        more = self._chosen.getrandbits(8) << 64 if length > 8 and self._maybe() else 0
        return bytes((length,)) + (gas | more).to_bytes(length)

    def _log(self, log: Log) -> bytes:
        is_fact = self._chosen.random() < 0.3
        self.counts[EventList.LOGS] += is_fact
        form = bytes((len(log.topics) | IS_FACT * is_fact,))
        return b"".join((form, len(log.data).to_bytes(3), log.emitter, *log.topics, log.data))

    def _other_receipt(self, receipt: Receipt) -> Receipt:
        logs = receipt.logs
        changed = [
            replace(receipt, cumulative_gas=receipt.cumulative_gas ^ 1),
            replace(receipt, transaction_type=self._chosen.randrange(6)),
            replace(receipt, status=self._chosen.choice((0, 1, 3, 0x3F))),
            replace(receipt, logs=logs[1:] + logs[:1]),
            replace(receipt, logs=logs[:-1]),
        ]
        if logs:
            log = logs[0]
            others = (
                replace(log, topics=log.topics[1:], data=b"".join(log.topics[:1]) + log.data),
                replace(log, topics=(*log.topics, bytes(32))),
                replace(log, data=log.data + b"\0"),
                replace(log, emitter=self._chosen.choice(self._sources.emitters)),
            )
            changed += [replace(receipt, logs=(other, *logs[1:])) for other in others]
        return self._chosen.choice(changed)


def _kind_of(kind: NodeKind, which: int) -> bytes:
    return bytes((kind,)) + _uint16(which)


def _uint16(number: int) -> bytes:
    return number.to_bytes(2)
