"""Build the witnesses of events, and cut them into calls of the events verifier that fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Self

from queries.chain.block_contents import BlockContent
from queries.chain.errors import EventNotProvableError
from queries.chain.registry import FactRead, RegistryReader
from queries.contracts.abi import call_data
from queries.models import Query
from queries.planning.calls import Anchor, Piece
from queries.proving.event_witness import build_event_witness
from queries.proving.facts import EventFact, FactKind
from queries.proving.packing import CALLDATA_BYTES, GasRules, pack
from queries.proving.registry_calls import HeaderStep, headers_section

MAX_ABSENT_LOGS = 255  # of a receipt in a witness, which counts them in a byte
EVENT_GAS = 8_000  # of a fact without its stored words


@dataclass(frozen=True, eq=False, kw_only=True)
class EventPiece(Piece):
    """Facts about a block's content, for a call of their own to the events verifier."""

    content: BlockContent
    events: tuple[EventFact, ...]
    are_roots_stored: bool = False  # the registry stores the header fields that prove them

    @cached_property
    def witness(self) -> bytes:
        number = self.anchor.header.number if self.are_roots_stored else None
        return build_event_witness(self.content, self.events, number)

    @cached_property
    def section(self) -> bytes:
        """Proves the header fields to the registry; empty if it stores them."""
        if self.are_roots_stored:
            return b""
        header, *newer_headers = self.headers
        fields = frozenset(fact.field for fact in self.events)
        steps = [HeaderStep(header, fields=fields), *map(HeaderStep, newer_headers)]
        return self.anchor.hop + headers_section(steps)

    @cached_property
    def own_call(self) -> bytes:
        return call_data("prove(bytes,bytes)", self.section, self.witness)

    @property
    def proves_header(self) -> bool:
        return False

    @property
    def gas(self) -> int:
        return sum(event_gas(fact, self.rules) for fact in self.events)

    @property
    def facts_key(self) -> str:
        return repr((self.anchor.header.hash, sorted(fact.name for fact in self.events)))

    @property
    def weight(self) -> int:
        return super().weight + self.rules.floor_byte * len(self.witness)

    def query_weights(self, queries: Sequence[Query]) -> list[int]:
        names = {fact.name: event_gas(fact, self.rules) for fact in self.events}
        return [sum(names.get(event["name"], 0) for event in query.events) for query in queries]

    def halves(self) -> tuple[Self, ...]:
        middle = len(self.events) // 2
        if not middle:
            return ()
        first, second = self.events[:middle], self.events[middle:]
        return replace(self, events=first), replace(self, events=second)


def event_gas(fact: EventFact, rules: GasRules) -> int:
    """A rough estimate of the gas for a fact, without its calldata."""
    return EVENT_GAS + rules.new_slot * (1 + (fact.kind is FactKind.WITHDRAWAL))


def cut_events(
    job_key: int,
    anchor: Anchor,
    events: Sequence[EventFact],
    content: BlockContent,
    registry_reader: RegistryReader,
) -> list[Piece]:
    """Cut the missing events into pieces that fit. Raises `EventNotProvableError`."""
    if not events:
        return []
    header, rules = anchor.header, registry_reader.chain.gas_rules
    fields = {fact.field for fact in events}
    roots = [FactRead(FactKind.HEADER_FIELD, field, header.number) for field in fields]
    whole = EventPiece(
        job_key,
        anchor,
        rules=rules,
        to=registry_reader.verifier,
        content=content,
        events=tuple(events),
        are_roots_stored=registry_reader.read_block(header, roots).is_complete,
    )

    def build(group: Sequence[EventFact]) -> bytes:
        return replace(whole, events=tuple(group)).own_call

    sorted_events = sorted(events, key=attrgetter("field", "index", "log"))
    gas, groups = partial(event_gas, rules=rules), list[Sequence[EventFact]]()
    for start in range(0, len(sorted_events), MAX_ABSENT_LOGS):
        part = sorted_events[start : start + MAX_ABSENT_LOGS]
        groups += pack(part, build, rules.items_gas, gas)
    for group in groups:
        if len(build(group)) > CALLDATA_BYTES:
            name = group[0].name
            sentence = f"The proof of {name} does not fit into a transaction."
            raise EventNotProvableError(sentence, name.encode())
    return [replace(whole, events=tuple(group)) for group in groups]
