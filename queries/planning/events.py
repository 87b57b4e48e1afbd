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
from eth_utils.address import to_checksum_address

from accounts.wording import format_count
from queries.chain.block_contents import BlockContent
from queries.chain.errors import (
    BloomInconclusiveError,
    ChainError,
    EventError,
    EventExistsError,
    EventNotFoundError,
    EventNotProvableError,
)
from queries.contracts.abi import call_data
from queries.models import Query
from queries.planning.calls import Anchor, Piece
from queries.proving.block_items import BLOOM_BYTES, NEWEST_TYPE, Log, Receipt, bloom_excludes
from queries.proving.event_witness import build_event_witness
from queries.proving.facts import ABSENCE_WORD, BlockFact, FactKind, canonical_filter
from queries.proving.keccak import keccak256
from queries.proving.packing import CALLDATA_BYTES, GasRules, pack
from queries.proving.registry_calls import HeaderStep, headers_section
from queries.proving.rlp_items import is_list
from queries.schema.bodies import EVENT_MEMBERS
from queries.sources.reader import RegistryReader

MAX_ABSENT_LOGS = 255  # of a receipt in a witness, which counts them in a byte
EVENT_GAS = 8_000  # of a fact without its stored words

Event = dict[str, Any]  # a fact's name, word and details, for answers
# An address, alone or as a topic.
_ADDRESS = re.compile("0x(?:0{24})?([0-9a-f]{40})(?![0-9a-f])")


def set_events(content: BlockContent, queries: Iterable[Query]) -> dict[str, Event]:
    """Name the facts about the block's content in the queries, unsaved; return them by name.

    Raises the same errors as `find_requested_events`.
    """
    events = dict[str, Event]()
    for query in queries:
        if query.event_request is not None:
            found_events = find_requested_events(content, query.event_request)
            query.event_names, query.event_count = list(found_events), len(found_events)
            events |= found_events
    return events


def find_requested_events(content: BlockContent, request: Mapping[str, Any]) -> dict[str, Event]:
    """Find the requested facts, by name.

    Raises a `ChainError` if no node answers, and an `EventError` if a fact cannot be proven.
    """
    events: dict[str, Event] = {}
    for member in EVENT_MEMBERS:  # databases do not keep the order of the request
        for position, item in enumerate(request.get(member, ())):
            try:
                for fact in _find_facts(content, member, item):
                    events[fact.name] = _check_and_describe(content, fact)
                if len(events) > settings.BATCH_EVENTS:
                    limit = format_count(settings.BATCH_EVENTS, "match", "matches")
                    raise EventNotProvableError(f"a block may have at most {limit} here")
            except EventError as error:
                sentence = f"{member}[{position}]: {error.sentence.rstrip('.')}."
                raise type(error)(sentence) from None
    return events


def find_mentions(content: BlockContent, events: Iterable[Event]) -> dict[str, set[str]]:
    """The addresses in each event, also those in topics, and its transaction's hash; by name."""
    hashes, mentions = dict[int | None, str](), dict[str, set[str]]()
    with suppress(ChainError):  # the facts can be proven without them
        hashes = {index: digest for digest, index in content.indexes.items()}
    for event in events:
        fact = BlockFact.parse(event["name"])
        transaction = hashes.get(fact.transaction if fact else None, "")
        text = " ".join((event["name"], event.get("address", ""), *event.get("topics", ())))
        addresses = {f"0x{digits}" for digits in _ADDRESS.findall(text.lower())}
        mentions[event["name"]] = {*addresses, transaction} - {""}
    return mentions


def _find_facts(content: BlockContent, member: str, item: Any) -> Iterable[BlockFact]:
    """The facts that an item of a request names; `_check_and_describe` checks them."""
    match member:
        case "logs":
            return _find_logs(content, item)
        case "receipts":
            return [BlockFact(FactKind.RECEIPT, _transaction_index(content, item))]
        case "transactions":
            return [BlockFact(FactKind.TRANSACTION, _transaction_index(content, item))]
        case "withdrawals":
            return [BlockFact(FactKind.WITHDRAWAL, item)]
    return [_absence_fact(content, item)]


def _find_logs(content: BlockContent, item: Mapping[str, Any]) -> Sequence[BlockFact]:
    if "log" in item:
        index = _transaction_index(content, item["transaction"])
        return [BlockFact(FactKind.LOG, index, log=item["log"])]
    facts = [
        BlockFact(FactKind.LOG, index, log=log)
        for index, receipt in enumerate(content.receipts)
        for log in range(len(receipt.logs))
    ]
    if "logIndex" in item:
        return [_entry_at(facts, item["logIndex"], "log")]
    emitter, topics = bytes.fromhex(item["address"][2:]), item.get("topics", ())

    def is_match(log: Log) -> bool:
        return log.emitter == emitter and _has_topics(log, topics)

    matches = [fact for fact in facts if is_match(content.receipts[fact.key].logs[fact.log])]
    if not matches:
        raise EventNotFoundError("no log of the block matches; ask for its absence instead")
    return matches


def _absence_fact(content: BlockContent, item: Mapping[str, Any]) -> BlockFact:
    emitter = bytes.fromhex(item.get("address", "0x")[2:])
    if emitter and "transaction" in item:
        index = _transaction_index(content, item["transaction"])
        lists = item.get("topics", ())
        topics = [bytes.fromhex(choices[0][2:]) if choices else None for choices in lists]
        return BlockFact(FactKind.ABSENT_LOG, index, filter=canonical_filter(emitter, topics))
    if emitter or "topic" in item:
        absent_item = emitter or bytes.fromhex(item["topic"][2:])
        return BlockFact(FactKind.SILENT_BLOCK, item=absent_item)
    if "withdrawal" in item:
        return BlockFact(FactKind.ABSENT_WITHDRAWAL, item["withdrawal"])
    index = _transaction_index(content, item["transaction"])
    return BlockFact(FactKind.ABSENT_TRANSACTION, index)


def _check_and_describe(content: BlockContent, fact: BlockFact) -> Event:
    """Return the fact with its word and details. Raises a `ChainError` if it is not true."""
    index, word, details = fact.key, ABSENCE_WORD, dict[str, object]()
    match fact.kind:
        case FactKind.LOG:
            log = _entry_at(
                _find_receipt(content, index).logs, fact.log, "log", f"transaction {index:,}"
            )
            earlier_count = sum(len(receipt.logs) for receipt in content.receipts[:index])
            word = log.hash
            details = {
                "transactionIndex": index,
                "log": fact.log,
                "logIndex": earlier_count + fact.log,
                "address": to_checksum_address(log.emitter),
                "topics": [f"0x{topic.hex()}" for topic in log.topics],
                "data": f"0x{log.data.hex()}",
            }
        case FactKind.RECEIPT:
            receipt = _find_receipt(content, index)
            word = receipt.word
            status = {"status": receipt.status} if isinstance(receipt.status, int) else {}
            details = {
                "transactionIndex": index,
                **status,
                "type": receipt.transaction_type,
                "cumulativeGasUsed": str(receipt.cumulative_gas),
                "logCount": len(receipt.logs),
            }
        case FactKind.TRANSACTION:
            encoding = _entry_at(content.transactions, index, "transaction")
            transaction_type = 0 if is_list(encoding) else encoding[0]
            _check_transaction_type(transaction_type, index)
            word = keccak256(encoding)
            details = {
                "transactionIndex": index,
                "transactionHash": f"0x{word.hex()}",
                "type": transaction_type,
            }
        case FactKind.WITHDRAWAL:
            withdrawal = _entry_at(content.withdrawals, index, "withdrawal")
            word = withdrawal.hash
            details = {
                "position": index,
                "withdrawalIndex": str(withdrawal.index),
                "validatorIndex": str(withdrawal.validator),
                "address": to_checksum_address(withdrawal.recipient),
                "amount": str(withdrawal.amount),
            }
        case FactKind.ABSENT_LOG:
            for log_index, log in enumerate(_find_receipt(content, index).logs):
                if fact.filter and fact.filter.matches(log):
                    raise EventExistsError(f"log {log_index} of transaction {index:,} matches")
            details = {"transactionIndex": index}
        case FactKind.SILENT_BLOCK:
            _check_bloom_excludes(content, fact.item)
        case _:
            noun = "withdrawal" if fact.kind is FactKind.ABSENT_WITHDRAWAL else "transaction"
            if index < (count := len(content.items(fact.field))):
                raise EventExistsError(f"the block has {format_count(count, noun)}")
    return {"name": fact.name, "word": word.hex(), **details}


def _check_bloom_excludes(content: BlockContent, item: bytes) -> None:
    if bloom_excludes(content.bloom, item):
        return
    for index, receipt in enumerate(content.receipts):
        for log_index, log in enumerate(receipt.logs):
            if item in (log.emitter, *log.topics):
                raise EventExistsError(
                    f"log {log_index} of transaction {index:,} has this address or topic"
                )
    match_rate = (int.from_bytes(content.bloom).bit_count() / (8 * BLOOM_BYTES)) ** 3
    raise BloomInconclusiveError(
        "no log has it, but the block's bloom cannot show that: by chance it matches one in "
        f"{1 / match_rate:,.0f} absent items; ask about single receipts"
    )


def _transaction_index(content: BlockContent, transaction: int | str) -> int:
    """The index of the transaction with this hash or index."""
    if isinstance(transaction, int):
        return transaction
    if transaction not in content.indexes:
        raise EventNotFoundError(f"the block has no transaction {transaction}")
    return content.indexes[transaction]


def _find_receipt(content: BlockContent, index: int) -> Receipt:
    receipt: Receipt = _entry_at(content.receipts, index, "transaction")
    _check_transaction_type(receipt.transaction_type, index)
    return receipt


def _entry_at(entries: Sequence[Any], index: int, noun: str, container: str = "the block") -> Any:
    if index >= len(entries):
        count = format_count(len(entries), noun)
        raise EventNotFoundError(f"there is no {noun} {index:,} in {container}, only {count}")
    return entries[index]


def _check_transaction_type(transaction_type: int, index: int) -> None:
    if transaction_type > NEWEST_TYPE:
        sentence = f"transaction {index:,} is of type {transaction_type:#04x}"
        raise EventNotProvableError(f"{sentence}; types up to {NEWEST_TYPE} can be proven")


def _has_topics(log: Log, lists: Sequence[Sequence[str] | None]) -> bool:
    """Whether the log's topics are in these lists, by position; None: any topic."""
    topics = [f"0x{topic.hex()}" for topic in log.topics]
    return len(topics) >= len(lists) and all(
        choices is None or topic in choices for topic, choices in zip(topics, lists, strict=False)
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class EventPiece(Piece):
    """Facts about a block's content, for a call of their own to the events verifier."""

    content: BlockContent
    events: tuple[BlockFact, ...]
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
        steps = [HeaderStep(header, fields=fields), *map(HeaderStep, newer_headers)]
        return self.anchor.hop + headers_section(steps)

    @cached_property
    def call(self) -> bytes:
        return call_data("prove(bytes,bytes)", self.section, self.witness)

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


def event_gas(fact: BlockFact, rules: GasRules) -> int:
    """A rough estimate of the gas for a fact, without its calldata."""
    return EVENT_GAS + rules.new_slot * (1 + (fact.kind is FactKind.WITHDRAWAL))


def cut_events(
    job_key: int,
    anchor: Anchor,
    events: Sequence[BlockFact],
    content: BlockContent,
    registry_reader: RegistryReader,
) -> list[Piece]:
    """Cut the missing events into pieces that fit. Raises `EventNotProvableError`."""
    if not events:
        return []
    header, rules = anchor.header, registry_reader.chain.gas_rules
    fields = {fact.field for fact in events}
    roots = [BlockFact(FactKind.HEADER_FIELD, field) for field in fields]
    whole = EventPiece(
        job_key,
        anchor,
        rules=rules,
        to=registry_reader.verifier,
        content=content,
        events=tuple(events),
        are_roots_stored=registry_reader.read_block(header, roots).is_complete,
    )

    def build(group: Sequence[BlockFact]) -> bytes:
        return replace(whole, events=tuple(group)).call

    sorted_events = sorted(events, key=attrgetter("field", "key", "log"))
    gas, groups = partial(event_gas, rules=rules), list[Sequence[BlockFact]]()
    for start in range(0, len(sorted_events), MAX_ABSENT_LOGS):
        part = sorted_events[start : start + MAX_ABSENT_LOGS]
        groups += pack(part, build, rules.items_gas, gas)
    for group in groups:
        if len(build(group)) > CALLDATA_BYTES:
            name = group[0].name
            sentence = f"The proof of {name} does not fit into a transaction."
            raise EventNotProvableError(sentence, name.encode())
    return [replace(whole, events=tuple(group)) for group in groups]
