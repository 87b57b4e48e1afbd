"""The body of a request, as far as HTTP is concerned: its kind and its length, before it is read.

What it says is for `queries.schema`.
"""

import re

from django.http import HttpRequest, UnreadablePostError

from accounts.errors import BAD_REQUEST, BODY_TOO_LARGE, CONTENT_TYPE_UNSUPPORTED, Refusal
from queries.errors import NOT_JSON
from queries.schema.strict_json import read_json
from queries.schema.wording import quoted

# `+json`: a kind of its own whose syntax is JSON (RFC 6839).
_JSON = re.compile(r"application/(?:[\w.!#$&^-]+\+)?json", re.ASCII)


def json_body(request: HttpRequest, most_bytes: int) -> object:
    """What the body says, or a refusal; a body that is too large is not read at all."""
    _check_kind(request.headers.get("Content-Type", ""))
    _check_coding(request.headers.get("Content-Encoding", ""))
    length = request.headers.get("Content-Length", "")
    if not re.fullmatch("[0-9]{0,18}", length):
        raise Refusal(BAD_REQUEST, "Content-Length is not a number of bytes.")
    if int(length or 0) > most_bytes:
        raise Refusal(
            BODY_TOO_LARGE,
            f"The body has {int(length):,} bytes; at most {most_bytes:,} are accepted.",
        )
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
