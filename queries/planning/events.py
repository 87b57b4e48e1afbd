"""Events: facts about a block's content. Finds the requested ones, builds their witnesses, and cuts
them into calls of the events verifier that fit.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Self

from django.conf import settings

from accounts.wording import format_count
from queries.chain import (
    BlockContent,
    BloomInconclusiveError,
    ChainError,
    EventError,
    EventExistsError,
    EventNotFoundError,
    EventNotProvableError,
)
from queries.models import Query
from queries.planning.calls import Anchor, Piece
from queries.proving import (
    CALLDATA_BYTES,
    BloomUndecidedError,
    GasRules,
    ItemMissingError,
    ItemNotProvableError,
    NotAbsentError,
    ProofError,
    SectionHeader,
    build_event_witness,
    headers_section,
    pack,
    prove_events_call,
)
from queries.proving.facts import EVENT_MEMBERS, BlockFact, EventFact, parse_fact, requested_kind
from queries.sources import RegistryReader

MAX_ABSENT_LOGS = 255  # of a receipt in a witness, which counts them in a byte
EVENT_GAS = 8_000  # of a fact without its stored words

EVENT_ERRORS: dict[type[ProofError], type[EventError]] = {
    ItemMissingError: EventNotFoundError,
    NotAbsentError: EventExistsError,
    BloomUndecidedError: BloomInconclusiveError,
    ItemNotProvableError: EventNotProvableError,
}
FoundEvent = dict[str, Any]  # a fact's name, word and details, for answers
# An address, alone or as a topic.
_ADDRESS = re.compile("0x(?:0{24})?([0-9a-f]{40})(?![0-9a-f])")


def set_events(content: BlockContent, queries: Iterable[Query]) -> dict[str, FoundEvent]:
    """Name the facts about the block's content in the queries, unsaved; return them by name.

    Raises the same errors as `find_requested_events`.
    """
    events = dict[str, FoundEvent]()
    for query in queries:
        if query.event_request is not None:
            found_events = find_requested_events(content, query.event_request)
            query.event_names, query.event_count = list(found_events), len(found_events)
            events |= found_events
    return events


def find_requested_events(
    content: BlockContent, request: Mapping[str, Any]
) -> dict[str, FoundEvent]:
    """Find the requested facts, by name.

    Raises a `ChainError` if no node answers, and an `EventError` if a fact cannot be proven.
    """
    events: dict[str, FoundEvent] = {}
    for member in EVENT_MEMBERS:  # databases do not keep the order of the request
        for position, item in enumerate(request.get(member, ())):
            try:
                events |= _find_events(content, member, item)
                if len(events) > settings.BATCH_EVENTS:
                    limit = format_count(settings.BATCH_EVENTS, "match", "matches")
                    raise EventNotProvableError(f"a block may have at most {limit} here")
            except EventError as error:
                sentence = f"{member}[{position}]: {error.sentence.rstrip('.')}."
                raise type(error)(sentence) from None
    return events


def _find_events(content: BlockContent, member: str, item: Any) -> dict[str, FoundEvent]:
    events: dict[str, FoundEvent] = {}
    try:
        for fact in requested_kind(member, item).find(content, item):
            word, details = fact.read(content)
            events[fact.name] = {"name": fact.name, "word": word.hex(), **details}
    except tuple(EVENT_ERRORS) as error:
        raise EVENT_ERRORS[type(error)](str(error)) from None
    return events


def find_mentions(content: BlockContent, events: Iterable[FoundEvent]) -> dict[str, set[str]]:
    """The addresses in each event, also those in topics, and its transaction's hash; by name."""
    hashes, mentions = dict[int | None, str](), dict[str, set[str]]()
    with suppress(ChainError):  # the facts can be proven without them
        hashes = {index: digest for digest, index in content.indexes.items()}
    for event in events:
        fact = parse_fact(event["name"])
        index = fact.transaction if isinstance(fact, EventFact) else None
        transaction = hashes.get(index, "")
        text = " ".join((event["name"], event.get("address", ""), *event.get("topics", ())))
        addresses = {f"0x{digits}" for digits in _ADDRESS.findall(text.lower())}
        mentions[event["name"]] = {*addresses, transaction} - {""}
    return mentions


@dataclass(frozen=True, eq=False, kw_only=True)
class EventPiece(Piece):
    """Facts about a block's content, for a call of their own to the events verifier."""

    content: BlockContent
    events: tuple[EventFact, ...]
    are_roots_stored: bool = False  # the registry stores the header fields that prove them

    @cached_property
    def witness(self) -> bytes:
        """It names the block if no section states the block's header fields."""
        number = self.anchor.header.number if self.are_roots_stored else None
        return build_event_witness(self.content, self.events, number)

    @property
    def witness_for_sections(self) -> bytes:
        """The witness as it follows a section, without the block's number."""
        return (replace(self, are_roots_stored=False) if self.are_roots_stored else self).witness

    @cached_property
    def section(self) -> bytes:
        """Proves the header fields to the registry; empty if it stores them."""
        if self.are_roots_stored:
            return b""
        header, *newer_headers = self.headers
        fields = frozenset(fact.field for fact in self.events)
        headers = [SectionHeader(header, fields=fields), *map(SectionHeader, newer_headers)]
        return self.anchor.hop + headers_section(headers)

    @cached_property
    def call(self) -> bytes:
        return prove_events_call(self.section, self.witness)

    @property
    def proof_size(self) -> int:
        return len(self.section) + len(self.witness)

    @property
    def gas(self) -> int:
        return sum(event_gas(fact, self.rules) for fact in self.events)

    @property
    def facts(self) -> frozenset[BlockFact]:
        return frozenset(self.events)

    @property
    def facts_key(self) -> str:
        return repr((self.anchor.header.hash, sorted(fact.name for fact in self.events)))

    def query_weights(self, queries: Sequence[Query]) -> list[int]:
        names = {fact.name: event_gas(fact, self.rules) for fact in self.events}
        return [sum(names.get(name, 0) for name in query.event_names) for query in queries]

    def halves(self) -> tuple[Self, ...]:
        middle = len(self.events) // 2
        if not middle:
            return ()
        first, second = self.events[:middle], self.events[middle:]
        return replace(self, events=first), replace(self, events=second)


def event_gas(fact: EventFact, rules: GasRules) -> int:
    """A rough estimate of the gas for a fact, without its calldata."""
    return EVENT_GAS + rules.new_slot * fact.stored_words


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
    header, rules = anchor.header, registry_reader.client.gas_rules
    roots = {fact.header_fact for fact in events}
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
        return replace(whole, events=tuple(group)).call

    sorted_events = sorted(events, key=attrgetter("field", "position"))
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
