"""JSON as a request may have it: exactly one reading, and nothing that a database cannot keep.

Python's own parser accepts duplicate keys, NaN and lone surrogates. Here each is refused with its
path. The parser knows no paths, so it leaves a `_Fault` in the content, which a walk from the top
then finds.
"""

import json
import re
from dataclasses import dataclass

from accounts.shared.errors import BODY_TOO_LARGE, Code, Refusal
from accounts.shared.wording import quoted
from queries.refusals import (
    DUPLICATE_KEY,
    NESTED_TOO_DEEPLY,
    NOT_JSON,
    NUMBER_MALFORMED,
    TEXT_NOT_STORABLE,
)
from queries.schema.paths import WHOLE_BODY, Place

MOST_DEPTH = 32  # a batch needs 7; the rest is for unknown fields, which are ignored
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = " \t\r\n"
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in the parsed content where a value cannot."""

    code: Code
    problem: str


def read_json(body: bytes, most_bytes: int) -> object:
    """Read a body, or refuse it with a sentence; no other error leaves here."""
    check_size(len(body), most_bytes)
    text = _decoded(body)
    try:
        content = _DECODER.decode(text)
        _check(content, WHOLE_BODY)
    except json.JSONDecodeError as fault:
        reason = fault.msg[0].lower() + fault.msg[1:].removesuffix(" at")
        raise Refusal(
            NOT_JSON,
            f"The body is not JSON: {reason} at line {fault.lineno}, column {fault.colno}.",
        ) from None
    except ValueError:  # Python reads integers of at most 4,300 digits
        raise Refusal(NUMBER_MALFORMED, "The body has a number with too many digits.") from None
    except RecursionError:
        raise _nested_too_deeply(WHOLE_BODY) from None
    return content


def check_size(size: int, most: int) -> None:
    if size > most:
        said = f"The body has {size:,} bytes; at most {most:,} are accepted."
        raise Refusal(BODY_TOO_LARGE, said)


def _decoded(body: bytes) -> str:
    if body.startswith(_BYTE_ORDER_MARK):
        raise Refusal(NOT_JSON, "The body begins with a byte order mark. Send UTF-8 without one.")
    try:
        text = body.decode()
    except UnicodeDecodeError as fault:
        raise Refusal(
            NOT_JSON, f"The body is not UTF-8: byte {fault.start + 1} is invalid."
        ) from None
    if not text.strip(_WHITE_SPACE):
        raise Refusal(NOT_JSON, "The body is empty. Send a JSON object.")
    return text


def _check(value: object, place: Place, depth: int = 0) -> None:
    """Refuse the first fault below; never deeper than the bound, so recursion is safe."""
    if isinstance(value, _Fault):
        raise place.refusal(value.code, f"{place} {value.problem}")
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, dict | list):
        if depth == MOST_DEPTH:
            raise _nested_too_deeply(place)
        for step, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(step, str):
                _check_text(step, place.inside(step), "The key ")
            # A place for every plain value would be most of the cost of a long list.
            if isinstance(each, str | dict | list | _Fault):
                _check(each, place.inside(step), depth + 1)


def _check_text(text: str, place: Place, what: str = "") -> None:
    found = _NOT_STORABLE.search(text)
    if found:
        number = ord(found[0])
        why = "half of a surrogate pair" if number else "which databases cannot keep"
        raise place.refusal(
            TEXT_NOT_STORABLE, f"{what}{place} holds U+{number:04X}, {why}. Leave it out."
        )


def _nested_too_deeply(place: Place) -> Refusal:
    return place.refusal(
        NESTED_TOO_DEEPLY,
        f"{place} goes deeper than {MOST_DEPTH} objects and lists inside each other.",
    )


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Fault:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return _Fault(DUPLICATE_KEY, f"has the key {quoted(key)} twice. Keep one of them.")


def _constant(name: str) -> _Fault:
    return _Fault(NUMBER_MALFORMED, f"is {name}, which is not a number in JSON.")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
