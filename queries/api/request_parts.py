"""A request's parameters and body, as far as HTTP is concerned.

What a body says is for `queries.schema`.
"""

import re

from django.http import HttpRequest, UnreadablePostError

from accounts.shared.errors import BAD_REQUEST, CONTENT_TYPE_UNSUPPORTED, Refusal
from accounts.shared.wording import quoted
from queries.ids import is_batch_id
from queries.refusals import NOT_JSON, PARAMETER_MALFORMED
from queries.schema.strict_json import check_size, read_json

CURSOR, LIMIT = "cursor", "limit"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
# `+json`: a kind of its own whose syntax is JSON (RFC 6839).
_JSON = re.compile(r"application/(?:[\w.!#$&^-]+\+)?json", re.ASCII)


def number(request: HttpRequest, name: str, default: int, *, least: int, most: int) -> int:
    text = request.GET.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise malformed(name, text, f"a whole number from {least} to {most:,}")
    return int(text)


def flag(request: HttpRequest, name: str, *, default: bool) -> bool:
    text = request.GET.get(name, str(int(default)))
    if text not in {"0", "1"}:
        raise malformed(name, text, "1 or 0")
    return text == "1"


def cursor(request: HttpRequest) -> str | None:
    """Where a list goes on: an id of what it lists."""
    text = request.GET.get(CURSOR)
    if text is not None and not is_batch_id(text):
        raise malformed(CURSOR, text, f"the {CURSOR} of the page before")
    return text


def malformed(name: str, text: str, wanted: str) -> Refusal:
    return Refusal(PARAMETER_MALFORMED, f"{name} is {quoted(text)}, not {wanted}.", path=name)


def json_body(request: HttpRequest, most_bytes: int) -> object:
    """What the body says, or a refusal; a body that is too large is not read at all."""
    _check_kind(request.headers.get("Content-Type", ""))
    _check_coding(request.headers.get("Content-Encoding", ""))
    length = request.headers.get("Content-Length", "")
    if not re.fullmatch("[0-9]{0,18}", length):
        raise Refusal(BAD_REQUEST, "Content-Length is not a number of bytes.")
    check_size(int(length or 0), most_bytes)
    try:
        body = request.body
    except UnreadablePostError:
        raise Refusal(NOT_JSON, "The body ends before its Content-Length says.") from None
    return read_json(body, most_bytes)


def _check_kind(content_type: str) -> None:
    """None is taken for JSON, because some clients say nothing."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind and not _JSON.fullmatch(kind):
        raise Refusal(
            CONTENT_TYPE_UNSUPPORTED,
            f"The body is sent as {quoted(kind)}; send it as application/json.",
            path="Content-Type",
        )


def _check_coding(coding: str) -> None:
    """A small compressed body could be any size."""
    if coding.strip().lower() not in {"", "identity"}:
        raise Refusal(
            CONTENT_TYPE_UNSUPPORTED,
            f"The body has the Content-Encoding {quoted(coding)}; send it uncompressed.",
            path="Content-Encoding",
        )
