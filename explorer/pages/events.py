"""What logs, receipts, transactions, withdrawals and their absence are called and read as."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eth_utils.address import to_checksum_address

from accounts.shared.wallets import short_hash
from accounts.shared.wording import format_count, join_names
from explorer.pages.known_events import known_event, known_sentence
from queries.amounts import short_amount
from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.facts import EventFact, FactKind
from queries.reading.facts import FactView
from queries.reading.view_models import QueryView

GWEI = 10**9
STATUSES = {1: "succeeded", 0: "failed", None: "has no status"}
_PRESENT = (FactKind.LOG, FactKind.RECEIPT, FactKind.TRANSACTION, FactKind.WITHDRAWAL)
KINDS = {f"{kind.lower()}s": kind for kind in _PRESENT}  # by member of the request
MEMBERS = (*KINDS, "absent")  # in this order, because PostgreSQL keeps none
REMARKS = {
    FactKind.LOG: "The names of an event and the decimals of a token are not proven.",
    FactKind.TRANSACTION: "Its sender is not proven.",
    FactKind.SILENT_BLOCK: "A bloom proves that there is no such log, never that there is one.",
}
Abbreviate = Callable[[str], str]  # `short_hash`, or `str`, which keeps hashes whole


def event_name(event: EventFact) -> str:
    """The question that the fact answers, such as `log 0 of transaction 3`."""
    logs = _filter_text(event, short_hash)
    return _name(event.kind, f"transaction {event.index}", event.log, event.index, logs)


def _name(kind: FactKind, transaction: str, log: object, index: object, logs: str) -> str:
    return {
        FactKind.LOG: f"log {log} of {transaction}",
        FactKind.RECEIPT: f"receipt of {transaction}",
        FactKind.TRANSACTION: transaction,
        FactKind.WITHDRAWAL: f"withdrawal {index}",
        FactKind.ABSENT_TRANSACTION: "number of transactions",
        FactKind.ABSENT_WITHDRAWAL: "number of withdrawals",
        FactKind.ABSENT_LOG: f"logs {logs} in {transaction}",
        FactKind.SILENT_BLOCK: f"logs {logs}",
    }[kind]


def event_answer(fact: FactView, event: EventFact, currency: str, *, is_short: bool) -> str:
    """Such as `no log by 0xd8dA…6045 in transaction 3`, which is `none` beside the question."""
    details, abbreviate = fact.details, short_hash if is_short else str
    match event.kind:
        case FactKind.LOG if details:
            answer = _log_text(details, abbreviate)
        case FactKind.RECEIPT if details:
            logs = format_count(details["logCount"], "log")
            answer = f"{STATUSES[details.get('status')]}, {logs}"
        case FactKind.WITHDRAWAL if details:
            amount = short_amount(int(details["amount"]) * GWEI, currency)
            validator = f"validator {int(details['validatorIndex']):,}"
            answer = f"{amount} to {abbreviate(details['address'])}, {validator}"
        case FactKind.ABSENT_TRANSACTION | FactKind.ABSENT_WITHDRAWAL:
            noun = event.kind.lower().removeprefix("absent_")
            answer = "at most " + (
                f"{event.index:,}" if is_short else format_count(event.index, noun)
            )
        case FactKind.ABSENT_LOG | FactKind.SILENT_BLOCK if is_short:
            answer = "none"
        case FactKind.ABSENT_LOG:
            answer = f"no log {_filter_text(event, str)} in transaction {event.index}"
        case FactKind.SILENT_BLOCK:
            answer = f"no log of this block {_filter_text(event, str)} (by its bloom)"
        case _:
            answer = abbreviate(fact.word)
    return answer


def _log_text(details: Mapping[str, Any], abbreviate: Abbreviate) -> str:
    emitter, topics = details["address"], details["topics"]
    if sentence := known_sentence(emitter, topics, details["data"], abbreviate):
        return sentence
    name = " ".join(["event", *map(abbreviate, topics[:1])])
    return f"{name} by {abbreviate(emitter)}"


def _filter_text(event: EventFact, abbreviate: Abbreviate) -> str:
    if event.filter:
        topics = [f"0x{topic.hex()}" if topic else None for topic in event.filter.topics]
        return _by(to_checksum_address(event.filter.emitter), topics, abbreviate)
    if len(event.item) == ADDRESS_BYTES:
        return _by(to_checksum_address(event.item), (), abbreviate)
    return f"with topic {abbreviate(f'0x{event.item.hex()}')}"


def _by(emitter: str, topics: Sequence[str | None], abbreviate: Abbreviate) -> str:
    named = ", ".join(abbreviate(topic) if topic else "any" for topic in topics)
    return f"by {abbreviate(emitter)}" + (f" with topics {named}" if topics else "")


# What an answer says, or the log's own parameters.
_HIDDEN = {"name", "word", "transactionIndex", "log", "position", "transactionHash", "topics"}
_HIDDEN |= {"data", "status", "amount", "logCount"}


def event_details(fact: FactView) -> list[tuple[str, str]]:
    """The content of a fact, by name."""
    details = fact.details
    shown = [(name, f"{value}") for name, value in details.items() if name not in _HIDDEN]
    named = [
        (re.sub("([A-Z])", r" \1", name).lower(), f"{int(text):,}" if text.isdecimal() else text)
        for name, text in shown
    ]
    if fact.kind is not FactKind.LOG or not details:
        return named
    if known := known_event(details["topics"], details["data"]):
        signature, _, parameters = known
        return [*named, ("event", signature), *parameters.items()]
    topics = [(f"topic {place}", topic) for place, topic in enumerate(details["topics"])]
    return [*named, *topics, ("data", details["data"])]


def requested_events(query: QueryView) -> list[str]:
    """What was asked for, before it is found in the block."""
    return [
        _requested_event(member, item)
        for member in MEMBERS
        for item in query.event_request.get(member, ())
    ]


def _requested_event(member: str, item: Any) -> str:
    parts = item if isinstance(item, dict) else {"transaction": item}
    transaction = f"transaction {short_hash(str(parts.get('transaction')))}"
    kind, logs = KINDS.get(member, FactKind.ABSENT_TRANSACTION), ""
    if "logIndex" in parts:
        transaction = "the block"
    elif "address" in parts or "topic" in parts:
        kind = FactKind.ABSENT_LOG if "transaction" in parts else FactKind.SILENT_BLOCK
        topics = [places[0] if places else None for places in parts.get("topics", ())]
        logs = f"with topic {short_hash(parts.get('topic', ''))}"
        if "address" in parts:
            logs = _by(to_checksum_address(parts["address"]), topics, short_hash)
    elif "withdrawal" in parts:
        kind = FactKind.ABSENT_WITHDRAWAL
    return _name(kind, transaction, parts.get("log", parts.get("logIndex")), item, logs)


def event_subject(query: QueryView) -> str:
    """What a query of a block's content asks for: `log 0 of transaction 3`, or `2 logs`."""
    if len(query.events) == 1 and (event := EventFact.parse(query.events[0]["name"])):
        return event_name(event)
    items = requested_events(query)
    if len(items) == 1:
        return items[0]
    if query.event_count != len(items):  # filters may find several logs, or none
        return format_count(query.event_count, "event")
    counts = [
        format_count(len(entries), "absence" if member == "absent" else member[:-1])
        for member in MEMBERS
        if (entries := query.event_request.get(member))
    ]
    return join_names(counts)
