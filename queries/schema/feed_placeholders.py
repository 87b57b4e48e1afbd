"""Placeholders in a feed's batch, such as `$topic1`: values of the run, filled in when it is due.

`$keccak(A, B, …)` is the hash of 32-byte words. The slot of an entry of a Solidity mapping is
`$keccak(KEY, SLOT)`, and that of a member of its struct `$keccak(KEY, SLOT)+1`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_abi.grammar import ABIType, BasicType, TupleType

from accounts.http.errors import BodyCode, RefusalError
from accounts.wording import quote_text
from queries.error_codes import FeedCode, RequestCode
from queries.proving.block_items import Log
from queries.proving.keccak import keccak256
from queries.schema.functions import ContractEvent
from queries.schema.paths import WHOLE_BODY, JsonPath

DUE, LOG_BLOCK = "$due", "$log.block"
_NAME = re.compile(r"(?<!\$)\$(?:due|log\.block|topic[0-9]+|data\[[0-9]+\])(?![A-Za-z0-9_])")
_KECCAK = re.compile(r"(?<!\$)\$keccak\(([^()$]*)\)(?:\+([0-9]{1,9}))?")
_HASH = re.compile("0x[0-9a-f]{64}")
_WORD = re.compile("0x([0-9a-fA-F]{1,64})|([0-9]{1,77})")

MAX_NESTED = 8  # of `$keccak`
MAX_EVENT_VALUES = 64

Values = Mapping[str, Any]  # JSON values by placeholder


def fill_in(content: Any, values: Values, path: JsonPath = WHOLE_BODY) -> Any:
    """The JSON with the placeholders' values, also in keys. Raises `RefusalError`."""
    if isinstance(content, str):
        return _fill_text(content, values, path)
    if isinstance(content, list):
        return [fill_in(item, values, path.child(index)) for index, item in enumerate(content)]
    if not isinstance(content, dict):
        return content
    filled: dict[str, Any] = {}
    for key, value in content.items():
        new_key = str(_fill_text(key, values, path.child(key)))
        if new_key in filled:
            problem = f"is {quote_text(new_key)} in this run, which is there already."
            raise path.child(key).refusal(BodyCode.DUPLICATE_KEY, problem)
        filled[new_key] = fill_in(value, values, path.child(key))
    return filled


def _fill_text(text: str, values: Values, path: JsonPath) -> Any:
    """A text that is just a placeholder becomes its value, which may be a list or a bool."""
    if "$" not in text:
        return text
    if _NAME.fullmatch(text):
        return _value(text, values, path)
    text = _NAME.sub(lambda match: _scalar(match[0], values, path), text)
    for _ in range(MAX_NESTED):  # the innermost first
        text = _KECCAK.sub(lambda match: _keccak(match, path), text)
    return text


def _value(name: str, values: Values, path: JsonPath) -> Any:
    if name not in values:
        known = ", ".join(values)
        raise _unknown(path, f"has {quote_text(name)}; this feed's placeholders are {known}")
    return values[name]


def _scalar(name: str, values: Values, path: JsonPath) -> str:
    value = _value(name, values, path)
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise _unknown(path, f"has {quote_text(name)} within a text, but it is not one word")
    return value


def _keccak(match: re.Match[str], path: JsonPath) -> str:
    words = [_WORD.fullmatch(word.strip()) for word in match[1].split(",")]
    if not all(words):
        raise _unknown(
            path, f"has {quote_text(match[0])}, but takes words: numbers, or 0x and hex digits"
        )
    numbers = [int(word[1], 16) if word[1] else int(word[2]) for word in words if word]
    digest = keccak256(b"".join((number % 2**256).to_bytes(32) for number in numbers))
    return f"0x{(int.from_bytes(digest) + int(match[2] or 0)) % 2**256:064x}"


def _unknown(path: JsonPath, problem: str) -> RefusalError:
    return path.refusal(RequestCode.UNKNOWN_PLACEHOLDER, f"{problem}.")


def is_fillable(event: ContractEvent) -> bool:
    """Whether a log of the event has few values, none of them a list of lists or of texts: such
    lists may be short in a log, and huge when they are decoded.
    """
    counts = [_value_count(kind) for kind in event.inputs]
    return all(counts) and sum(counts) <= MAX_EVENT_VALUES


def _value_count(kind: ABIType) -> int:
    """The values of a type, or 1 if it is a list of any length; 0 if lists are nested in it."""
    if not kind.is_array:
        if not isinstance(kind, TupleType):
            return 1
        counts = [_value_count(part) for part in kind.components]
        return sum(counts) if all(counts) else 0
    item = kind.item_type
    if item.is_array or item.is_dynamic or isinstance(item, TupleType):
        return 0
    length = (kind.arrlist or [()])[-1]
    return length[0] if length else 1


def log_values(event: ContractEvent, log: Log, block: int) -> dict[str, Any]:
    """The values of a log. Raises `RefusalError` if it is not of this event's types."""
    topics, indexed = log.topics[1:], event.indexed
    try:
        words = [_topic_value(*pair) for pair in zip(indexed, topics, strict=True)]
        data = decode([kind.to_type_str() for kind in event.data], log.data)
    except (DecodingError, OverflowError, ValueError):  # or there are more topics, or fewer
        sentence = f"A log of {event.name} has other types than `on.event` says."
        raise RefusalError(FeedCode.FEED_MALFORMED, sentence, path="on.event") from None
    return _values(str(block), words, map(_json, data))


def sample_values(event: ContractEvent, block: int) -> dict[str, Any]:
    """Values with which a batch is checked before there is a log."""
    kinds = [*event.indexed, *event.data]
    samples = [_sample(kind, number) for number, kind in enumerate(kinds, 1)]
    indexed = len(event.indexed)
    return _values(str(block), samples[:indexed], samples[indexed:])


def is_hash(value: Any) -> bool:
    """Whether a value is 32 bytes."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _values(block: str, topics: Iterable[Any], data: Iterable[Any]) -> dict[str, Any]:
    return {
        DUE: block,
        LOG_BLOCK: block,
        **{f"$topic{place}": value for place, value in enumerate(topics, 1)},
        **{f"$data[{place}]": value for place, value in enumerate(data)},
    }


def _topic_value(kind: ABIType, topic: bytes) -> Any:
    """The value, or the hash by which values that are not one word are indexed."""
    is_word = isinstance(kind, BasicType) and not kind.is_array and not kind.is_dynamic
    return _json(decode([kind.to_type_str()], topic)[0] if is_word else topic)


def _json(value: Any) -> Any:
    """A decoded value as a delivery's argument; numbers as hex digits, as slots are written."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return str(value) if value < 0 else hex(value)
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        if "\0" in value:
            raise RefusalError(
                BodyCode.TEXT_NOT_STORABLE, "A text of the log has a zero byte.", path="on.event"
            )
        return f"${value}" if value.startswith("$") else value  # it is no placeholder
    return list(map(_json, value))


def _sample(kind: ABIType, number: int) -> Any:
    if kind.is_array:
        length = (kind.arrlist or [()])[-1]
        return [_sample(kind.item_type, number) for _ in range(length[0] if length else 0)]
    if isinstance(kind, TupleType):
        return [_sample(part, number) for part in kind.components]
    if not isinstance(kind, BasicType):
        raise TypeError(kind)
    size = kind.sub if isinstance(kind.sub, int) else 0
    samples = {
        "address": f"0x{number:040x}",
        "bool": False,
        "bytes": f"0x{number:0{2 * size}x}" if size else "0x",
        "string": "",
    }
    return samples.get(kind.base, hex(number))
