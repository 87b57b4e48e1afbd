"""Format the facts of a proof file as text."""

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from operator import itemgetter

from eth_utils.address import to_checksum_address

from accounts.shared.wording import format_count, format_timestamp
from queries.amounts import UNIT_DIGITS, format_units
from queries.known_events import known_sentence
from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.block_items import Log
from queries.proving.bundles import BlockProof, BundleFact
from queries.proving.facts import EventFact, FactKind
from queries.proving.headers import FIELD_RULES, FieldFormat, HeaderField

MAX_ALIGNED_NAME = 24  # longer slot numbers do not widen the column


def block_lines(block: BlockProof) -> Iterator[str]:
    header = block.header
    yield f"Block {header.number:,} of chain {block.chain}, {format_timestamp(header.timestamp)}"
    yield f"  hash 0x{header.hash.hex()}"
    address, kind = to_checksum_address(block.registry.address), block.registry.kind
    yield f"  facts, as the {kind} registry {address} keeps them on chain {block.destination}:"
    absent = {entry.proof.address for entry in block.accounts if not entry.proof.exists}
    logs = block.logs
    rows = [
        (_owner_line(fact, absent), *(_describe_event(fact, logs) or _name_and_value(fact)))
        for fact in block.facts
    ]
    width = max(min(len(name), MAX_ALIGNED_NAME) for _, name, _ in rows)
    for owner, group in groupby(rows, key=itemgetter(0)):
        yield f"    {owner}"
        yield from (f"      {name:{width}}  {value}" for _, name, value in group)


def _owner_line(fact: BundleFact, absent: Collection[bytes | None]) -> str:
    if fact.account is None:
        titles = {FactKind.HEADER_FIELD: "its header", FactKind.BLOCK_AT_TIME: "its time"}
        return titles.get(fact.kind, "its events, which the events verifier beside it keeps")
    remark = " (there was no such account)" if fact.account in absent else ""
    return f"{to_checksum_address(fact.account)}{remark}"


def _name_and_value(fact: BundleFact) -> tuple[str, str]:
    number = int.from_bytes(fact.word, "big")
    if fact.kind is FactKind.BLOCK_AT_TIME:
        return format_timestamp(int(fact.name)), f"block {number:,} was the last one"
    if fact.kind is FactKind.HEADER_FIELD:
        return fact.name, _header_value(HeaderField[fact.name], fact.word)
    if fact.kind is FactKind.STORAGE_SLOT:
        digits = fact.name[2:].lstrip("0") or "0"
        return f"slot 0x{digits}", f"0x{fact.word.hex()} ({number})" if number else "0"
    if fact.name == "BALANCE":
        return fact.name, f"{format_units(number, UNIT_DIGITS)} ({number} wei)"
    return fact.name, str(number) if fact.name == "NONCE" else f"0x{fact.word.hex()}"


def _describe_event(fact: BundleFact, logs: Mapping[str, Log]) -> tuple[str, str] | None:
    if (event := EventFact.parse(fact.name)) is None:
        return None
    name, value = f"{event.kind.lower()} {event.index}", f"hash 0x{fact.word.hex()}"
    match event.kind:
        case FactKind.LOG:
            name = f"log {event.log} of transaction {event.index}"
            value = _log_text(logs[fact.name])
        case FactKind.RECEIPT:
            name = f"receipt of transaction {event.index}"
            status = {0: "failed", 1: "succeeded"}.get(fact.word[30], "with a state root")
            count = format_count(int.from_bytes(fact.word[27:29]), "log")
            value = f"{status}, {count}, type {fact.word[29]}"
        case FactKind.ABSENT_LOG if event.filter:
            name = f"logs of transaction {event.index}"
            value = f"none is by {to_checksum_address(event.filter.emitter)}"
            if topics := [f"0x{topic.hex()}" if topic else "any" for topic in event.filter.topics]:
                value += f" with the topics {', '.join(topics)}"
        case FactKind.SILENT_BLOCK:
            name, value = "logs of the block", f"none has the topic 0x{event.item.hex()}"
            if len(event.item) == ADDRESS_BYTES:
                value = f"none is by {to_checksum_address(event.item)}"
        case FactKind.ABSENT_TRANSACTION | FactKind.ABSENT_WITHDRAWAL:
            items = event.kind.removeprefix("ABSENT_").lower()
            name, value = f"{items}s", f"the block has at most {event.index}"
    return name, value


def _log_text(log: Log) -> str:
    emitter, data = to_checksum_address(log.emitter), f"0x{log.data.hex()}"
    topics = [f"0x{topic.hex()}" for topic in log.topics]
    if sentence := known_sentence(emitter, topics, data):
        return sentence
    return f"by {emitter}, topics {', '.join(topics) or 'none'}, data {data}"


def _header_value(field: HeaderField, word: bytes) -> str:
    number = int.from_bytes(word, "big")
    if field is HeaderField.TIMESTAMP:
        return f"{number} ({format_timestamp(number)})"
    if field is HeaderField.COINBASE:
        return str(to_checksum_address(word[-ADDRESS_BYTES:]))
    return str(number) if FIELD_RULES[field].format is FieldFormat.INTEGER else f"0x{word.hex()}"
