"""Find the facts about a block's content that a request asks for."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from eth_utils.address import to_checksum_address

from accounts.shared.wording import format_count
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BloomInconclusiveError,
    ChainError,
    EventExistsError,
    EventNotFoundError,
    EventNotProvableError,
)
from queries.models import EventReference, Query
from queries.proving.block_items import (
    BLOOM_BYTES,
    NEWEST_TYPE,
    Log,
    Receipt,
    Withdrawal,
    is_silent,
)
from queries.proving.facts import ABSENCE_WORD, EventFact, FactKind, log_filter
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import keccak256
from queries.proving.rlp_items import is_list
from queries.schema.bodies import EVENT_MEMBERS

Event = dict[str, Any]  # a fact's name and word, and what it is about, for answers
# An address, alone or as a topic.
_ADDRESS = re.compile("0x(?:0{24})?([0-9a-f]{40})(?![0-9a-f])")
# Certain, because the header proves the whole content of its block.
EVENT_ERRORS = (EventNotFoundError, EventExistsError, EventNotProvableError)


@dataclass
class BlockContent:
    """What a block contains. Each list is fetched if it is needed, and checked by its root."""

    source: ChainClient
    header: Header

    @cached_property
    def receipts(self) -> list[Receipt]:
        return self.source.receipts(self.header)

    @cached_property
    def transactions(self) -> list[bytes]:
        return self.source.transactions(self.header)

    @cached_property
    def withdrawals(self) -> list[Withdrawal]:
        if not self.header.has_field(HeaderField.WITHDRAWALS_ROOT):
            raise EventNotFoundError("the block is older than withdrawals")
        return self.source.withdrawals(self.header)

    @cached_property
    def indexes(self) -> dict[str, int]:
        """The transactions' indexes, by their hashes."""
        hashes = map(keccak256, self.transactions)
        return {f"0x{digest.hex()}": index for index, digest in enumerate(hashes)}

    @property
    def bloom(self) -> bytes:
        return self.header.payload(HeaderField.LOGS_BLOOM)

    def transaction_index(self, name: int | str) -> int:
        """The index of the transaction with this hash or index. Raises `EventNotFoundError`."""
        if isinstance(name, int):
            return name
        if name not in self.indexes:
            raise EventNotFoundError(f"the block has no transaction {name}")
        return self.indexes[name]

    def receipt(self, name: int | str) -> tuple[int, Receipt]:
        """The receipt of the transaction with this hash or index, and the index."""
        index = self.transaction_index(name)
        receipt = _entry(self.receipts, index, "transaction")
        _check_type(receipt.transaction_type, index)
        return index, receipt


def set_events(content: BlockContent, queries: Iterable[Query]) -> None:
    """Set the facts of queries for the block's content, unsaved. Raises as `find_events`."""
    for query in queries:
        if query.event_request is not None:
            query.events = find_events(content, query.event_request)
            query.event_count = len(query.events)


def find_events(content: BlockContent, request: Mapping[str, Any]) -> list[Event]:
    """The requested facts, each once. Raises a `ChainError` if one is certainly not true."""
    find = _EventSearch(content)
    events: dict[str, Event] = {}
    for member in EVENT_MEMBERS:  # databases do not keep the order of the request
        for position, item in enumerate(request.get(member, ())):
            with _named(f"{member}[{position}]"):
                for event in getattr(find, member)(item):
                    events[event["name"]] = event
                if len(events) > settings.BATCH_EVENTS:
                    limit = format_count(settings.BATCH_EVENTS, "match", "matches")
                    raise EventNotProvableError(f"a block may have at most {limit} here")
    return list(events.values())


def event_references(content: BlockContent, query: Query) -> Iterator[EventReference]:
    """What the query's facts name: addresses, also those in topics, and their transactions."""
    hashes, block = dict[int | None, str](), content.header.number
    with suppress(ChainError):  # the facts can be proven without them
        hashes = {index: digest for digest, index in content.indexes.items()}
    for event in query.events:
        fact = EventFact.parse(event["name"])
        transaction = hashes.get(fact.transaction if fact else None, "")
        text = " ".join((event["name"], event.get("address", ""), *event.get("topics", ())))
        names = {f"0x{digits}" for digits in _ADDRESS.findall(text.lower())}
        for name in filter(None, {*names, transaction}):
            yield EventReference(
                query=query, source=query.source, block=block, fact=event["name"], name=name
            )


@contextmanager
def _named(place: str) -> Iterator[None]:
    try:
        yield
    except EVENT_ERRORS as error:
        raise type(error)(f"{place}: {error.sentence}.") from None


@dataclass
class _EventSearch:
    """A method for each member of a request, which yields the events of one item."""

    content: BlockContent

    def logs(self, item: Mapping[str, Any]) -> Iterator[Event]:
        if "log" in item:
            index, receipt = self.content.receipt(item["transaction"])
            _entry(receipt.logs, item["log"], "log", f" in transaction {index:,}")
            yield self._log(index, item["log"])
        elif "logIndex" in item:
            places = [
                (index, place)
                for index, receipt in enumerate(self.content.receipts)
                for place in range(len(receipt.logs))
            ]
            yield self._log(*_entry(places, item["logIndex"], "log"))
        else:
            yield from self._matching_logs(item)

    def _matching_logs(self, item: Mapping[str, Any]) -> Iterator[Event]:
        emitter, topics = bytes.fromhex(item["address"][2:]), item.get("topics", ())
        places = [
            (index, place)
            for index, receipt in enumerate(self.content.receipts)
            for place, log in enumerate(receipt.logs)
            if log.emitter == emitter and _has_topics(log, topics)
        ]
        if not places:
            raise EventNotFoundError("no log of the block matches; ask for its absence instead")
        for index, place in places:
            yield self._log(index, place)

    def _log(self, index: int, place: int) -> Event:
        receipt = self.content.receipts[index]
        _check_type(receipt.transaction_type, index)
        log, earlier = receipt.logs[place], self.content.receipts[:index]
        return _event(
            EventFact(FactKind.LOG, index, place),
            log.hash,
            transactionIndex=index,
            log=place,
            logIndex=sum(len(receipt.logs) for receipt in earlier) + place,
            address=to_checksum_address(log.emitter),
            topics=[f"0x{topic.hex()}" for topic in log.topics],
            data=f"0x{log.data.hex()}",
        )

    def receipts(self, item: int | str) -> Iterator[Event]:
        index, receipt = self.content.receipt(item)
        status = receipt.status if isinstance(receipt.status, int) else None
        yield _event(
            EventFact(FactKind.RECEIPT, index),
            receipt.word,
            transactionIndex=index,
            status=status,
            type=receipt.transaction_type,
            cumulativeGasUsed=str(receipt.cumulative_gas),
            logCount=len(receipt.logs),
        )

    def transactions(self, item: int | str) -> Iterator[Event]:
        index = self.content.transaction_index(item)
        encoded = _entry(self.content.transactions, index, "transaction")
        kind = 0 if is_list(encoded) else encoded[0]
        _check_type(kind, index)
        digest = keccak256(encoded)
        yield _event(
            EventFact(FactKind.TRANSACTION, index),
            digest,
            transactionIndex=index,
            transactionHash=f"0x{digest.hex()}",
            type=kind,
        )

    def withdrawals(self, item: int) -> Iterator[Event]:
        withdrawal = _entry(self.content.withdrawals, item, "withdrawal")
        yield _event(
            EventFact(FactKind.WITHDRAWAL, item),
            withdrawal.hash,
            position=item,
            withdrawalIndex=str(withdrawal.index),
            validatorIndex=str(withdrawal.validator),
            address=to_checksum_address(withdrawal.recipient),
            amount=str(withdrawal.amount),
        )

    def absent(self, item: Mapping[str, Any]) -> Iterator[Event]:
        if "address" in item and "transaction" in item:
            yield self._absent_log(item)
        elif "address" in item or "topic" in item:
            yield self._silence(bytes.fromhex(item.get("address", item.get("topic", ""))[2:]))
        elif "withdrawal" in item:
            fact = EventFact(FactKind.ABSENT_WITHDRAWAL, item["withdrawal"])
            yield self._absent_index(fact, len(self.content.withdrawals), "withdrawal")
        else:
            index = self.content.transaction_index(item["transaction"])
            fact = EventFact(FactKind.ABSENT_TRANSACTION, index)
            yield self._absent_index(fact, len(self.content.transactions), "transaction")

    def _absent_index(self, fact: EventFact, count: int, noun: str) -> Event:
        if fact.index < count:
            raise EventExistsError(f"the block has {format_count(count, noun)}")
        return _event(fact, ABSENCE_WORD)

    def _absent_log(self, item: Mapping[str, Any]) -> Event:
        index, receipt = self.content.receipt(item["transaction"])
        topics = [
            bytes.fromhex(allowed[0][2:]) if allowed else None for allowed in item.get("topics", ())
        ]
        wanted = log_filter(bytes.fromhex(item["address"][2:]), topics)
        for place, log in enumerate(receipt.logs):
            if wanted.matches(log):
                raise EventExistsError(f"log {place} of transaction {index:,} matches")
        fact = EventFact(FactKind.ABSENT_LOG, index, filter=wanted)
        return _event(fact, ABSENCE_WORD, transactionIndex=index)

    def _silence(self, item: bytes) -> Event:
        bloom = self.content.bloom
        if not is_silent(bloom, item):
            self._check_logs(item)
            share = (int.from_bytes(bloom).bit_count() / (8 * BLOOM_BYTES)) ** 3
            raise BloomInconclusiveError(
                "no log has it, but the block's bloom matches it, as it does one of "
                f"{1 / share:,.0f} items by chance; ask about single receipts"
            )
        return _event(EventFact(FactKind.SILENT_BLOCK, item=item), ABSENCE_WORD)

    def _check_logs(self, item: bytes) -> None:
        """Raise `EventExistsError` if a log of the block has the emitter or topic."""
        for index, receipt in enumerate(self.content.receipts):
            for place, log in enumerate(receipt.logs):
                if item in (log.emitter, *log.topics):
                    raise EventExistsError(f"log {place} of transaction {index:,} has it")


def _event(fact: EventFact, word: bytes, **details: object) -> Event:
    known = {name: value for name, value in details.items() if value is not None}
    return {"name": fact.name, "word": word.hex(), **known}


def _entry(entries: Sequence[Any], index: int, noun: str, place: str = " in the block") -> Any:
    if index >= len(entries):
        count = format_count(len(entries), noun)
        raise EventNotFoundError(f"there is no {noun} {index:,}{place}, only {count}")
    return entries[index]


def _check_type(transaction_type: int, index: int) -> None:
    if transaction_type > NEWEST_TYPE:
        sentence = f"transaction {index:,} is of type {transaction_type:#04x}"
        raise EventNotProvableError(f"{sentence}; types up to {NEWEST_TYPE} can be proven")


def _has_topics(log: Log, places: Sequence[Sequence[str] | None]) -> bool:
    topics = [f"0x{topic.hex()}" for topic in log.topics]
    return len(topics) >= len(places) and all(
        allowed is None or topic in allowed for topic, allowed in zip(topics, places, strict=False)
    )
