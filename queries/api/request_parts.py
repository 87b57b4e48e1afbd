"""Parse a request's parameters and body; `queries.schema` checks what a body contains."""

import re

from django.http import HttpRequest, UnreadablePostError

from accounts.http.errors import BodyCode, CommonCode, RefusalError
from accounts.wording import quote_text
from queries.error_codes import EndpointCode
from queries.ids import is_ulid
from queries.reading import Cursor
from queries.schema.strict_json import check_size, read_json

CURSOR, LIMIT = "cursor", "limit"
PAGE_SIZE, MAX_PAGE_SIZE = 50, 100
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
# `+json`: another media type whose syntax is JSON (RFC 6839).
_JSON = re.compile(r"application/(?:[\w.!#$&^-]+\+)?json", re.ASCII)


def number_parameter(
    request: HttpRequest, name: str, default: int, *, minimum: int, maximum: int
) -> int:
    text = request.GET.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text) or not minimum <= int(text) <= maximum:
        raise malformed_parameter(name, text, f"a whole number from {minimum} to {maximum:,}")
    return int(text)


def page_size(request: HttpRequest) -> int:
    return number_parameter(request, LIMIT, PAGE_SIZE, minimum=1, maximum=MAX_PAGE_SIZE)


def flag_parameter(request: HttpRequest, name: str) -> bool:
    """A parameter that is 1 or 0; 1 if it is missing."""
    text = request.GET.get(name, "1")
    if text not in {"0", "1"}:
        raise malformed_parameter(name, text, "1 or 0")
    return text == "1"


def cursor_parameter(request: HttpRequest) -> Cursor | None:
    """The id of the last row of the page before."""
    if (text := request.GET.get(CURSOR)) is None:
        return None
    if not is_ulid(text):
        raise malformed_parameter(CURSOR, text, f"the {CURSOR} of the page before")
    return Cursor((text,))


def malformed_parameter(name: str, text: str, rule: str) -> RefusalError:
    return RefusalError(
        EndpointCode.PARAMETER_MALFORMED, f"{name} is {quote_text(text)}, not {rule}.", path=name
    )


def json_body(request: HttpRequest, max_bytes: int) -> object:
    """Parse the body, or refuse it; a body that is too large is not read at all."""
    _check_content_type(request.headers.get("Content-Type", ""))
    _check_content_encoding(request.headers.get("Content-Encoding", ""))
    length = request.headers.get("Content-Length", "")
    if not re.fullmatch("[0-9]{0,18}", length):
        raise RefusalError(CommonCode.BAD_REQUEST, "Content-Length is not a number of bytes.")
    check_size(int(length or 0), max_bytes)
    try:
        body = request.body
    except UnreadablePostError:
        raise RefusalError(
            BodyCode.NOT_JSON, "The body is shorter than its Content-Length."
        ) from None
    return read_json(body, max_bytes)


def _check_content_type(content_type: str) -> None:
    """Accept requests without a content type, because some clients send none."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type and not _JSON.fullmatch(media_type):
        raise RefusalError(
            BodyCode.CONTENT_TYPE_UNSUPPORTED,
            f"The body is sent as {quote_text(media_type)}; send it as application/json.",
            path="Content-Type",
        )


def _check_content_encoding(encoding: str) -> None:
    """Refuse compressed bodies, because a small one can unpack to any size."""
    if encoding.strip().lower() not in {"", "identity"}:
        raise RefusalError(
            BodyCode.CONTENT_TYPE_UNSUPPORTED,
            f"The body has the Content-Encoding {quote_text(encoding)}; send it uncompressed.",
            path="Content-Encoding",
        )
