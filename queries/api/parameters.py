"""The parameters of a request's address."""

import re

from django.http import HttpRequest

from accounts.errors import Refusal
from queries.errors import PARAMETER_MALFORMED
from queries.reading.batches import is_batch_id
from queries.schema.wording import quoted

CURSOR, LIMIT = "cursor", "limit"
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


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
