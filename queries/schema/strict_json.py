"""Strict JSON: no duplicate keys, no NaN, no lone surrogates, nothing that databases cannot store.

Python's parser does not know the path of a value, so the hooks put an `_InvalidValue` in its place,
and a walk from the top finds it.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass

from accounts.http.errors import BodyCode, ErrorCode, RefusalError
from accounts.wording import quote_text
from queries.schema.paths import WHOLE_BODY, JsonPath

MAX_DEPTH = 32  # a batch needs 7; the rest is for unknown fields, which are ignored
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = " \t\r\n"
_UNSTORABLE_CHARACTER = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _InvalidValue:
    """Replaces a wrong value in the parsed content."""

    code: ErrorCode
    problem: str


def read_json(body: bytes, max_bytes: int) -> object:
    """Parse a body. Raises only `RefusalError`."""
    check_size(len(body), max_bytes)
    text = _decode_body(body)
    try:
        content = _DECODER.decode(text)
        _check_json_value(content, WHOLE_BODY)
    except json.JSONDecodeError as error:
        reason = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        raise RefusalError(
            BodyCode.NOT_JSON,
            f"The body is not JSON: {reason} at line {error.lineno}, column {error.colno}.",
        ) from None
    except ValueError:  # Python reads integers of at most 4,300 digits
        raise RefusalError(
            BodyCode.NUMBER_MALFORMED, "The body has a number with too many digits."
        ) from None
    except RecursionError:
        raise _nested_too_deeply(WHOLE_BODY) from None
    return content


def check_size(size: int, limit: int) -> None:
    if size > limit:
        raise RefusalError(
            BodyCode.BODY_TOO_LARGE, f"The body has {size:,} bytes; at most {limit:,} are accepted."
        )


def _decode_body(body: bytes) -> str:
    if body.startswith(_BYTE_ORDER_MARK):
        raise RefusalError(
            BodyCode.NOT_JSON, "The body begins with a byte order mark. Send UTF-8 without one."
        )
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise RefusalError(
            BodyCode.NOT_JSON, f"The body is not UTF-8: byte {error.start + 1} is invalid."
        ) from None
    if not text.strip(_WHITE_SPACE):
        raise RefusalError(BodyCode.NOT_JSON, "The body is empty. Send a JSON object.")
    return text


def _check_json_value(value: object, path: JsonPath, depth: int = 0) -> None:
    """Refuse the first error in the value; `MAX_DEPTH` bounds the recursion."""
    if isinstance(value, _InvalidValue):
        raise path.refusal(value.code, value.problem)
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, dict | list):
        if depth == MAX_DEPTH:
            raise _nested_too_deeply(path)
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(step, str):
                _check_text(step, path.child(step), "The key ")
            # Skip numbers: making their paths would be most of the cost of a long list.
            if isinstance(item, str | dict | list | _InvalidValue):
                _check_json_value(item, path.child(step), depth + 1)


def _check_text(text: str, path: JsonPath, subject: str = "") -> None:
    match = _UNSTORABLE_CHARACTER.search(text)
    if match:
        number = ord(match[0])
        reason = "half of a surrogate pair" if number else "which databases cannot keep"
        problem = f"contains U+{number:04X}, {reason}. Leave it out."
        sentence = f"{subject}{path} {problem}"
        raise path.refusal(BodyCode.TEXT_NOT_STORABLE, problem, sentence=sentence)


def _nested_too_deeply(path: JsonPath) -> RefusalError:
    return path.refusal(
        BodyCode.NESTED_TOO_DEEPLY,
        f"nests more than {MAX_DEPTH} objects and lists inside each other.",
    )


def _unique_members(pairs: list[tuple[str, object]]) -> dict[str, object] | _InvalidValue:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    ((key, _),) = Counter(name for name, _ in pairs).most_common(1)
    return _InvalidValue(
        BodyCode.DUPLICATE_KEY, f"has the key {quote_text(key)} twice. Keep one of them."
    )


def _invalid_constant(name: str) -> _InvalidValue:
    return _InvalidValue(BodyCode.NUMBER_MALFORMED, f"is {name}, which is not a number in JSON.")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_members, parse_constant=_invalid_constant)
