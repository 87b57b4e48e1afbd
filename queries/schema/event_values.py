"""The values of an event's logs, by the placeholders that they have in a feed's batch."""

import re
from collections.abc import Iterable
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_abi.grammar import ABIType, BasicType, TupleType

from accounts.http.errors import BodyCode, RefusalError
from queries.error_codes import FeedCode
from queries.proving import Log
from queries.schema.functions import ContractEvent
from queries.schema.templates import DUE, LOG_BLOCK

MAX_EVENT_VALUES = 64
_HASH = re.compile("0x[0-9a-f]{64}")


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


def log_placeholders(event: ContractEvent) -> list[tuple[str, ABIType, str]]:
    """The placeholder, the type and the name of each parameter of an event."""
    parameters = list(zip(event.inputs, event.are_indexed, event.names, strict=True))
    topics = [(_topic_kind(kind), name) for kind, is_indexed, name in parameters if is_indexed]
    data = [(kind, name) for kind, is_indexed, name in parameters if not is_indexed]
    return [
        *((f"$topic{place}", kind, name) for place, (kind, name) in enumerate(topics, 1)),
        *((f"$data[{place}]", kind, name) for place, (kind, name) in enumerate(data)),
    ]


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
    return _json(decode([kind.to_type_str()], topic)[0] if _is_word(kind) else topic)


def _topic_kind(kind: ABIType) -> ABIType:
    return kind if _is_word(kind) else BasicType("bytes", 32)


def _is_word(kind: ABIType) -> bool:
    return isinstance(kind, BasicType) and not kind.is_array and not kind.is_dynamic


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
