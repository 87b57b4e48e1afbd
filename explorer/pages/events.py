"""Names and texts of logs, receipts, transactions, withdrawals and their absence.

Events of ERC-20, ERC-721 and ERC-1155 tokens are known without asking for an ABI.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wallets import short_hash
from accounts.wording import format_count, join_names
from queries.amounts import format_units, short_amount
from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.facts import BlockFact, FactKind
from queries.proving.keccak import keccak256
from queries.reading.batches import QueryView
from queries.reading.facts import FactView, TokenView

GWEI = 10**9
STATUSES = {1: "succeeded", 0: "failed", None: "has no status"}
_PRESENT_KINDS = (FactKind.LOG, FactKind.RECEIPT, FactKind.TRANSACTION, FactKind.WITHDRAWAL)
KINDS = {f"{kind.lower()}s": kind for kind in _PRESENT_KINDS}  # by member of the request
MEMBERS = (*KINDS, "absent")  # in this order, because PostgreSQL keeps none
REMARKS = {
    FactKind.LOG: "The names of an event, and a token's symbol and decimals, are not proven.",
    FactKind.TRANSACTION: "Its sender is not proven.",
    FactKind.SILENT_BLOCK: "A bloom proves that there is no such log, never that there is one.",
}
Abbreviate = Callable[[str], str]  # `short_hash`, or `str`, which keeps hashes whole


def event_name(event: BlockFact) -> str:
    """The question that the fact answers, such as `log 0 of transaction 3`."""
    logs = _filter_text(event, short_hash)
    return _name(event.kind, f"transaction {event.key}", event.log, event.key, logs)


def name_in_transaction(event: BlockFact) -> str:
    """The same below a heading that names the transaction, such as `log 0`."""
    names = {
        FactKind.LOG: f"log {event.log}",
        FactKind.RECEIPT: "receipt",
        FactKind.ABSENT_LOG: f"logs {_filter_text(event, short_hash)}",
    }
    return names.get(event.kind) or event_name(event)


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


def event_value(fact: FactView, event: BlockFact, currency: str, *, is_short: bool) -> str:
    """The proven value as text, such as `no log by 0xd8dA…6045 in transaction 3`.

    If short only `none`, because the fact's name stands next to it.
    """
    details, abbreviate = fact.details, short_hash if is_short else str
    match event.kind:
        case FactKind.LOG if details:
            answer = _log_text(fact, abbreviate)
        case FactKind.RECEIPT if details:
            logs = format_count(details["logCount"], "log")
            answer = f"{STATUSES[details.get('status')]}, {logs}"
        case FactKind.WITHDRAWAL if details:
            amount = short_amount(int(details["amount"]) * GWEI, currency)
            validator = f"validator {int(details['validatorIndex']):,}"
            answer = f"{amount} to {abbreviate(details['address'])}, {validator}"
        case FactKind.ABSENT_TRANSACTION | FactKind.ABSENT_WITHDRAWAL:
            noun = event.kind.lower().removeprefix("absent_")
            answer = "at most " + (f"{event.key:,}" if is_short else format_count(event.key, noun))
        case FactKind.ABSENT_LOG | FactKind.SILENT_BLOCK if is_short:
            answer = "none"
        case FactKind.ABSENT_LOG:
            answer = f"no log {_filter_text(event, str)} in transaction {event.key}"
        case FactKind.SILENT_BLOCK:
            answer = f"no log of this block {_filter_text(event, str)} (by its bloom)"
        case _:
            answer = abbreviate(fact.word)
    return answer


def log_sentence(fact: FactView) -> str:
    """What a log of a known event says; empty for other facts."""
    details = fact.details if fact.kind is FactKind.LOG and fact.word else {}
    is_known = details and _known_event(details["topics"], details["data"])
    return _log_text(fact, short_hash) if is_known else ""


def _log_text(fact: FactView, abbreviate: Abbreviate) -> str:
    """Such as `Transfer of 5 DAI (0x…) from 0x… to 0x…`, if the event is known."""
    emitter, topics = fact.details["address"], fact.details["topics"]
    if known_event := _known_event(topics, fact.details["data"]):
        _, sentence, parameters = known_event
        texts = {name: _parameter_text(value) for name, value in parameters.items()}
        texts = {
            name: abbreviate(text) if text.startswith("0x") else text
            for name, text in texts.items()
        }
        texts["token"] = abbreviate(emitter)
        if "{amount}" in sentence:
            texts["amount"] = _amount_text(parameters["value"], fact.token, texts["token"])
        return sentence.format_map(texts)
    name = " ".join(["event", *map(abbreviate, topics[:1])])
    return f"{name} by {abbreviate(emitter)}"


def _amount_text(value: int, token: TokenView | None, address: str) -> str:
    """An amount of an ERC-20 token. Anyone may choose any symbol, so its address stands beside."""
    name = f"{token.symbol} ({address})" if token and token.symbol else f"of token {address}"
    if token is None or token.decimals is None or value >= 10**MAX_DIGITS:
        return f"{_parameter_text(value)} (raw units) {name}"
    return f"{format_units(value, token.decimals)} {name}"


def _filter_text(event: BlockFact, abbreviate: Abbreviate) -> str:
    if event.filter:
        topics = [f"0x{topic.hex()}" if topic else None for topic in event.filter.topics]
        return _emitter_text(to_checksum_address(event.filter.emitter), topics, abbreviate)
    if len(event.item) == ADDRESS_BYTES:
        return _emitter_text(to_checksum_address(event.item), (), abbreviate)
    return f"with topic {abbreviate(f'0x{event.item.hex()}')}"


def _emitter_text(emitter: str, topics: Sequence[str | None], abbreviate: Abbreviate) -> str:
    names = ", ".join(abbreviate(topic) if topic else "any" for topic in topics)
    return f"by {abbreviate(emitter)}" + (f" with topics {names}" if topics else "")


# What an answer says, or the log's own parameters.
_HIDDEN_NAMES = {"name", "word", "transactionIndex", "log", "position", "transactionHash", "topics"}
_HIDDEN_NAMES |= {"data", "status", "amount", "logCount"}


def event_details(fact: FactView) -> list[tuple[str, str]]:
    """The content of a fact, by name."""
    details = fact.details
    texts = [(name, f"{value}") for name, value in details.items() if name not in _HIDDEN_NAMES]
    rows = [
        (re.sub("([A-Z])", r" \1", name).lower(), f"{int(text):,}" if text.isdecimal() else text)
        for name, text in texts
    ]
    if fact.kind is not FactKind.LOG or not details:
        return rows
    if known_event := _known_event(details["topics"], details["data"]):
        signature, _, parameters = known_event
        texts = [(name, _parameter_text(value)) for name, value in parameters.items()]
        return [*rows, ("event", signature), *texts]
    topics = [(f"topic {place}", topic) for place, topic in enumerate(details["topics"])]
    return [*rows, *topics, ("data", details["data"])]


def requested_events(query: QueryView) -> list[str]:
    """The names of the requested items, before they are found in the block."""
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
            logs = _emitter_text(to_checksum_address(parts["address"]), topics, short_hash)
    elif "withdrawal" in parts:
        kind = FactKind.ABSENT_WITHDRAWAL
    return _name(kind, transaction, parts.get("log", parts.get("logIndex")), item, logs)


def event_subject(query: QueryView) -> str:
    """Name what a query of a block's content asks for: `log 0 of transaction 3`, or `2 logs`."""
    if len(query.events) == 1 and (event := BlockFact.parse(query.events[0]["name"])):
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


MAX_DIGITS = 40  # a longer number is shown in hex
# Declarations, indexed parameters first, and sentences with the parameters' names.
_DECLARATIONS = {
    "Transfer(address indexed from,address indexed to,uint256 value)":
        "Transfer of {amount} from {from} to {to}",
    "Transfer(address indexed from,address indexed to,uint256 indexed tokenId)":
        "Transfer of token {tokenId} of {token} from {from} to {to}",
    "TransferSingle(address indexed operator,address indexed from,address indexed to,uint256 id,"
    "uint256 value)": "Transfer of {value} of token {id} of {token} from {from} to {to}",
    "TransferBatch(address indexed operator,address indexed from,address indexed to,uint256[] ids,"
    "uint256[] values)": "Transfer of {values} of tokens {ids} of {token} from {from} to {to}",
    "Approval(address indexed owner,address indexed spender,uint256 value)":
        "Approval of {spender} for {amount}, by {owner}",
    "Approval(address indexed owner,address indexed approved,uint256 indexed tokenId)":
        "Approval of {approved} for token {tokenId} of {token}, by {owner}",
    "ApprovalForAll(address indexed owner,address indexed operator,bool approved)":
        "Approval of {operator} for all tokens of {token}, by {owner}: {approved}",
}  # fmt: skip


def _known_event(topics: Sequence[str], data: str) -> tuple[str, str, dict[str, Any]] | None:
    """Its signature, its sentence with names in braces, and its parameters by name.

    None if the event is not known, or encoded otherwise than its signature says.
    """
    event = _KNOWN_EVENTS.get((topics[0], len(topics) - 1)) if topics else None
    if event is None:
        return None
    signature, sentence, names, types = event
    count, content = len(topics) - 1, data[2:]
    try:
        in_topics = decode(types[:count], bytes.fromhex("".join(topic[2:] for topic in topics[1:])))
        in_data = decode(types[count:], bytes.fromhex(content))
    except DecodingError:
        return None
    if encode(types[count:], in_data).hex() != content:
        return None
    return signature, sentence, dict(zip(names, (*in_topics, *in_data), strict=True))


def _parameter_text(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}" if value < 10**MAX_DIGITS else hex(value)
        case str():
            return to_checksum_address(value)
    return " + ".join(map(_parameter_text, value)) or "none"


def _parse_event(declaration: str, sentence: str) -> Any:
    """Return an entry of `_KNOWN_EVENTS`, by the first topic and the number of the others."""
    name, _, rest = declaration.removesuffix(")").partition("(")
    parameters = [parameter.split() for parameter in rest.split(",")]
    types, names = [words[0] for words in parameters], [words[-1] for words in parameters]
    signature = f"{name}({','.join(types)})"
    indexed_count = sum("indexed" in words for words in parameters)
    key = f"0x{keccak256(signature.encode()).hex()}", indexed_count
    return key, (signature, sentence, names, types)


_KNOWN_EVENTS = dict(_parse_event(*event) for event in _DECLARATIONS.items())
