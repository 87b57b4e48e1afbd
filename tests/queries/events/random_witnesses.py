"""Witnesses of random blocks: honest ones, and what forgers may make of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from eth_abi.abi import encode

from queries.proving.facts.events import EventList
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import SectionHeader, headers_section
from tests.queries.contracts.recorded_events import (
    BLOOM,
    FIELDS,
    RECEIPTS,
    TRANSACTIONS,
    RecordedBlock,
    may_have,
)
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)
from tests.queries.events.lying_groups import LyingGroup, random_filter, random_indexes
from tests.queries.events.random_blocks import Sources

NEWEST_TYPE = 4
_MAX_ITEM_BYTES = 8_000  # of honest requests, of which there are several
Stated = tuple[RecordedBlock, HeaderField]


@dataclass(frozen=True, repr=False)
class Candidate:
    """What is handed to a verifier. Without a section its registry stores the roots."""

    kind: str
    stated: tuple[Stated, ...]  # the fields of the section, in its order
    section: bytes
    witness: bytes
    behind: bytes = b""  # calldata behind the witness

    def __repr__(self) -> str:
        parts = (self.section, self.witness, self.behind)
        return f"{self.kind} {' '.join(f'0x{part.hex()}' for part in parts)}"

    def call(self, signature: bytes) -> bytes:
        """The calldata of a function of both."""
        data = signature + encode(["bytes", "bytes"], [self.section, self.witness])
        if not self.behind:
            return data
        return data[: len(data) - -len(self.witness) % 32] + self.behind


@dataclass(frozen=True)
class _Part:
    """A group in a witness."""

    block: RecordedBlock
    field: int
    group: Group


def random_stated(chosen: Random, sources: Sources) -> tuple[bytes, tuple[Stated, ...]]:
    """A section about some fields of the known blocks, in one chain of headers or in several."""
    first, second = sources.blocks
    orders = ([[first]], [[second]], [[first, second]], [[second], [first]], [[first], [second]])
    section, stated = b"", list[Stated]()
    for chain in chosen.choice(orders):
        steps = []
        for block in chain:
            fields = sorted(chosen.sample(FIELDS, chosen.choice((1, 1, 2, 4))))
            steps.append(SectionHeader(block.header, fields=frozenset(fields)))
            stated += [(block, field) for field in fields]
        section += headers_section(steps)
    return section, tuple(stated)


class Forger:
    """Makes candidates about the blocks of some sources."""

    def __init__(self, chosen: Random, sources: Sources) -> None:
        self.chosen, self.sources = chosen, sources

    def honest(self, *, has_section: bool) -> Candidate:
        section, stated = random_stated(self.chosen, self.sources)
        groups = [self._honest_group(*place) for place in stated]
        numbers = [block.number for block, _ in stated]
        witness = build_group_witness(groups, None if has_section else numbers)
        return Candidate("honest", stated, section if has_section else b"", witness)

    def forged(self) -> Candidate:
        """Any candidate: encoded otherwise, lying, mixed or broken."""
        section, stated = random_stated(self.chosen, self.sources)
        kind = self.chosen.choice(("encoded otherwise", "lying", "lying", "mixed", "broken"))
        lies = [0] * len(stated)
        if kind == "lying":
            lies[self.chosen.randrange(len(stated))] = self.chosen.choice((1, 1, 2))
        parts = [
            _Part(block, field, self._lying_group(block, field, lies[place]))
            for place, (block, field) in enumerate(stated)
        ]
        if kind == "mixed":
            parts = self._mixed(parts)
        counts = [sum(part.group.counts.get(fact, 0) for part in parts) for fact in EventList]
        if kind in {"mixed", "broken"} and self.chosen.random() < 0.1:
            place = self.chosen.randrange(len(counts))
            counts[place] = max(counts[place] + self.chosen.choice((-1, 1)), 0)
            counts = self.chosen.choice((counts, counts[::-1], counts[1:] + counts[:1]))
        if self.chosen.random() < 0.4:
            section, stated = b"", ()
        elif kind == "mixed" and self.chosen.random() < 0.2:  # a section about something else
            section, stated = self._other_section()
        witness = b"".join(count.to_bytes(2) for count in counts)
        for part in parts:
            number = part.block.number.to_bytes(8) if not section else b""
            witness += bytes((part.field,)) + number + part.group.encode()
        if kind == "broken":
            witness = self.broken(witness)
        behind = b""
        if self.chosen.random() < 0.1:  # a witness that ends before what follows it
            end = self.chosen.randrange(len(witness) + 1)
            witness, behind = witness[:end], witness[end:]
        return Candidate(kind, stated, section, witness, behind)

    def _other_section(self) -> tuple[bytes, tuple[Stated, ...]]:
        foreign = self.sources.foreign
        if self.chosen.random() < 0.7:
            return random_stated(self.chosen, self.sources)
        return foreign.section(*FIELDS), tuple((foreign, field) for field in FIELDS)

    # Groups

    def _honest_group(self, block: RecordedBlock, field: HeaderField) -> Group:
        values = block.values(field) if field is not BLOOM else ()
        # Honest provers refuse what the verifier cannot read.
        indexes = [
            index
            for index in random_indexes(self.chosen, len(values))
            if index >= len(values)
            or (len(values[index]) < _MAX_ITEM_BYTES and self._has_known_type(block, field, index))
        ] or [len(values)]
        if field is RECEIPTS:
            requests = {index: self._request(block, index) for index in indexes}
            return ReceiptGroup(block.receipts, requests)
        if field is TRANSACTIONS:
            return TransactionGroup(block.transactions, indexes)
        if field is not BLOOM:
            return WithdrawalGroup(block.withdrawals, indexes)
        bloom = block.header.payload(BLOOM)
        items = [*self.sources.emitters, *self.sources.topics, self.chosen.randbytes(20)]
        return BloomGroup(bloom, [item for item in items if not may_have(bloom, item)])

    @staticmethod
    def _has_known_type(block: RecordedBlock, field: HeaderField, index: int) -> bool:
        if field not in {TRANSACTIONS, RECEIPTS}:
            return True
        return block.receipts[index].transaction_type <= NEWEST_TYPE

    def _request(self, block: RecordedBlock, index: int) -> ReceiptRequest:
        logs = block.receipts[index].logs if index < len(block.receipts) else ()
        places = self.chosen.sample(range(len(logs)), self.chosen.randrange(min(len(logs), 5) + 1))
        filters = [random_filter(self.chosen, self.sources, logs) for _ in range(2)]
        absent = [f for f in filters if not any(map(f.matches, logs))]
        return ReceiptRequest(self.chosen.random() < 0.5, frozenset(places), tuple(absent))

    def _lying_group(self, block: RecordedBlock, field: HeaderField, lies: int) -> LyingGroup:
        return LyingGroup(self.chosen, self.sources, block, field, lies)

    def _mixed(self, parts: Sequence[_Part]) -> list[_Part]:
        """Groups of other blocks, under other fields, missing, repeated, or in another order."""
        mixed = list(parts)
        place = self.chosen.randrange(len(mixed))
        part = mixed[place]
        block = self.chosen.choice((*self.sources.blocks, self.sources.foreign))
        field = self.chosen.choice(FIELDS)
        changes: Sequence[list[_Part]] = (
            mixed[:place] + mixed[place + 1 :],
            [*mixed, part],
            mixed[::-1],
            *(
                [*mixed[:place], changed, *mixed[place + 1 :]]
                for changed in (
                    replace(part, block=block),
                    replace(part, field=field),
                    replace(part, field=self.chosen.randrange(256)),
                    replace(part, group=self._lying_group(block, HeaderField(part.field), 0)),
                    replace(part, group=self._lying_group(block, field, 0)),
                )
            ),
        )
        return self.chosen.choice(changes)

    # Bytes

    def broken(self, content: bytes) -> bytes:
        """One to three bytes or spans changed, mostly where the structure is."""
        for _ in range(self.chosen.choice((1, 1, 2, 3))):
            structural = [place for place, byte in enumerate(content) if byte < 0x41]
            place = self.chosen.choice([*structural, *range(0, len(content), 7)] or [0])
            end = place + self.chosen.choice((1, 1, 2, 3, 8, 20, 32, 33))
            before, span, after = content[:place], content[place:end], content[end:]
            byte = (content[place] if place < len(content) else 0) ^ 1 << self.chosen.randrange(8)
            other = bytes((self.chosen.choice((byte, byte, self.chosen.randrange(9), 0x40, 0xFF)),))
            content = self.chosen.choice(
                (
                    before + other + span[1:] + after,
                    before + other + span[1:] + after,
                    before + after,
                    before + span + span + after,
                    before + self.chosen.randbytes(len(span)) + after,
                    before + after[: len(span)] + span + after[len(span) :],
                    before + other + span + after,
                    before,
                    content + span,
                )
            )
        return content
