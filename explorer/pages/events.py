"""What logs, receipts, transactions, withdrawals and their absence are called and read as."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eth_utils.address import to_checksum_address

from accounts.shared.wallets import short_hash
from accounts.shared.wording import format_count, join_names
from explorer.pages.known_events import known_log
from queries.amounts import short_amount
from queries.proving.block_items import ADDRESS_BYTES
from queries.proving.facts import EventFact, FactKind
from queries.reading.facts import FactView
from queries.reading.view_models import QueryView

GWEI = 10**9
STATUSES = {1: "succeeded", 0: "failed", None: "has no status"}
NOUNS = {
    "logs": "log",
    "receipts": "receipt",
    "transactions": "transaction",
    "withdrawals": "withdrawal",
    "absent": "absence,absences",
}
REMARKS = {
    FactKind.LOG: "The names of an event and the decimals of a token are not proven.",
    FactKind.TRANSACTION: "Its sender is not proven.",
    FactKind.SILENT_BLOCK: "A bloom proves that there is no such log, never that there is one.",
}
Abbreviate = Callable[[str], str]  # `short_hash`, or `str`, which keeps hashes whole


def event_name(event: EventFact) -> str:
    """The question that the fact answers, such as `log 0 of transaction 3`."""
    match event.kind:
        case FactKind.LOG:
            name = f"log {event.log} of transaction {event.index}"
        case FactKind.RECEIPT:
            name = f"receipt of transaction {event.index}"
        case FactKind.TRANSACTION | FactKind.WITHDRAWAL:
            name = f"{event.kind.lower()} {event.index}"
        case FactKind.ABSENT_LOG:
            name = f"logs {_filter_text(event, short_hash)} in transaction {event.index}"
        case FactKind.SILENT_BLOCK:
            name = f"logs {_filter_text(event, short_hash)}"
        case _:
            name = f"number of {_list_noun(event)}s"
    return name


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
            count = format_count(event.index, _list_noun(event))
            answer = f"at most {event.index if is_short else count}"
        case FactKind.ABSENT_LOG | FactKind.SILENT_BLOCK if is_short:
            answer = "none"
        case FactKind.ABSENT_LOG:
            answer = f"no log {_filter_text(event, str)} in transaction {event.index}"
        case FactKind.SILENT_BLOCK:
            answer = f"no log of this block {_filter_text(event, str)} (by its bloom)"
        case _:
            answer = abbreviate(fact.word)
    return answer


def _list_noun(event: EventFact) -> str:
    return event.kind.lower().removeprefix("absent_")


def _log_text(details: Mapping[str, Any], abbreviate: Abbreviate) -> str:
    emitter, topics = abbreviate(details["address"]), details["topics"]
    if known := known_log(topics, details["data"]):
        parameters = {
            name: abbreviate(text) if text.startswith("0x") else text
            for name, text in known.parameters.items()
        }
        return known.sentence.format_map({**parameters, "token": emitter})
    return f"event {abbreviate(topics[0])} by {emitter}" if topics else f"event by {emitter}"


def _filter_text(event: EventFact, abbreviate: Abbreviate) -> str:
    if not event.filter:
        is_topic = len(event.item) > ADDRESS_BYTES
        item = f"0x{event.item.hex()}" if is_topic else to_checksum_address(event.item)
        return f"{'with topic' if is_topic else 'by'} {abbreviate(item)}"
    topics = [f"0x{topic.hex()}" if topic else None for topic in event.filter.topics]
    return _by(to_checksum_address(event.filter.emitter), topics, abbreviate)


def _by(emitter: str, topics: Sequence[str | None], abbreviate: Abbreviate) -> str:
    named = ", ".join(abbreviate(topic) if topic else "any" for topic in topics)
    return f"by {abbreviate(emitter)}" + (f" with topics {named}" if topics else "")


def event_details(fact: FactView) -> list[tuple[str, str]]:
    """The content of a fact, by name."""
    details = fact.details
    if fact.kind is not FactKind.LOG or not details:
        names = {"type": "type", "cumulativeGasUsed": "gas used up to it", "logCount": "logs"}
        names |= {"withdrawalIndex": "withdrawal", "validatorIndex": "validator"}
        names |= {"address": "recipient", "amount": "Gwei"}
        return [(title, f"{details[name]}") for name, title in names.items() if name in details]
    known = known_log(details["topics"], details["data"])
    content = [("index in the block", f"{details['logIndex']:,}"), ("emitter", details["address"])]
    if known:
        return [*content, ("event", known.signature), *known.parameters.items()]
    topics = [(f"topic {place}", topic) for place, topic in enumerate(details["topics"])]
    return [*content, *topics, ("data", details["data"])]


def requested_events(query: QueryView) -> list[str]:
    """What was asked for, before it is found in the block."""
    return [
        _requested_event(member, item)
        for member, items in query.event_request.items()
        for item in items
    ]


def _requested_event(member: str, item: Any) -> str:
    parts = item if isinstance(item, dict) else {"transaction": item}
    transaction = _transaction_text(parts.get("transaction"))
    if "address" in parts or "topic" in parts:
        topics = [places[0] if places else None for places in parts.get("topics", ())]
        by = f"with topic {short_hash(parts.get('topic', ''))}"
        if "address" in parts:
            by = _by(to_checksum_address(parts["address"]), topics, short_hash)
        return f"logs {by} in {transaction}" if transaction else f"logs {by}"
    if member == "logs" and "logIndex" in parts:
        return f"log {parts['logIndex']:,} of the block"
    texts = {
        "logs": f"log {parts.get('log')} of {transaction}",
        "receipts": f"receipt of {transaction}",
        "transactions": transaction,
        "withdrawals": f"withdrawal {item}",
        "absent": f"number of {'withdrawals' if 'withdrawal' in parts else 'transactions'}",
    }
    return texts[member]


def _transaction_text(name: int | str | None) -> str:
    return "" if name is None else f"transaction {short_hash(str(name))}"


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
        format_count(len(entries), *NOUNS[member].split(","))
        for member, entries in query.event_request.items()
    ]
    return join_names(counts)
