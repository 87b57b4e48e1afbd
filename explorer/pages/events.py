"""Texts of logs. Events of ERC-20, ERC-721 and ERC-1155 tokens are known without an ABI."""

from collections.abc import Callable, Sequence
from typing import Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wallets import short_hash
from explorer.pages.decoding import PLAUSIBLE_ADDRESSES
from queries.amounts import format_units
from queries.proving import keccak256
from queries.reading import FactView, TokenView

Abbreviate = Callable[[str], str]  # `short_hash`, or `str`, which keeps hashes whole


def log_sentence(fact: FactView) -> str:
    """What a log of a known event says; empty if it is not known."""
    details = fact.details if fact.word else {}
    is_known = details and _known_event(details["topics"], details["data"])
    return log_text(fact, short_hash) if is_known else ""


def log_text(fact: FactView, abbreviate: Abbreviate) -> str:
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


def _units_text(value: int, token: TokenView | None) -> str:
    """Such as `5 DAI`; empty if the token's decimals are not known."""
    if token is None or token.decimals is None or value >= 10**MAX_DIGITS:
        return ""
    return f"{format_units(value, token.decimals)} {token.symbol}".rstrip()


def filter_text(emitter: str, topics: Sequence[str | None], abbreviate: Abbreviate) -> str:
    names = ", ".join(abbreviate(topic) if topic else "any" for topic in topics)
    text = f"by {abbreviate(to_checksum_address(emitter))}"
    return f"{text} with topics {names}" if topics else text


def log_parameters(fact: FactView) -> list[tuple[str, str]]:
    """The log's parameters. If its event is not known, its topics, and the words of its data: each
    as what it may be.
    """
    topics, data = fact.details["topics"], fact.details["data"]
    if known_event := _known_event(topics, data):
        signature, sentence, parameters = known_event
        texts = {name: _parameter_text(value) for name, value in parameters.items()}
        if "{amount}" in sentence and (amount := _units_text(parameters["value"], fact.token)):
            texts["value"] = f"{amount} ({texts['value']} raw units)"
        return [("event", signature), *texts.items()]
    rows = [(f"topic {place}", topic) for place, topic in enumerate(topics)]
    rows = [*rows[:1], *((name, _word_text(topic)) for name, topic in rows[1:])]
    content = bytes.fromhex(data[2:])
    words = [f"0x{content[i : i + WORD].hex()}" for i in range(0, len(content), WORD)]
    if len(content) % WORD or not 0 < len(words) <= MAX_DATA_WORDS:
        return [*rows, ("data", data)]
    return [*rows, *((f"data[{place}]", _word_text(word)) for place, word in enumerate(words))]


def _word_text(word: str) -> str:
    """A number or an address if it looks like one, or the word."""
    number = int(word, 16)
    if number in PLAUSIBLE_ADDRESSES:
        return to_checksum_address(f"0x{number:040x}")
    return f"{number:,}" if number < PLAUSIBLE_ADDRESSES.start else word


MAX_DIGITS = 40  # a longer number is shown in hex
WORD, MAX_DATA_WORDS = 32, 8  # bytes; longer data is shown as it is
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
