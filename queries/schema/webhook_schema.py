"""The webhook of a request: where to send word of the batch, and with which headers.

Whether the host may be called at all is decided when it is called, by the address it then has.
Neither the address nor a header's value is repeated in a refusal: both may hold secrets.
"""

import re
from ipaddress import IPv6Address

from accounts.counting import counted
from accounts.errors import Refusal
from queries.errors import (
    DUPLICATE_KEY,
    TOO_MANY_WEBHOOK_HEADERS,
    WEBHOOK_HEADERS_TOO_LARGE,
    WEBHOOK_MALFORMED,
)

from .batch_request import WebhookRequest
from .batch_rules import BatchLimits
from .json_kinds import optional, read_object, read_text, refuse_unknown, required
from .places import Place

MOST_URL_CHARACTERS = 2_000
OUR_HEADERS = "tacitus-"
# Those that frame the message, or speak for the connection and not for the message.
OF_THE_CONNECTION = {
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
_FIELDS = ("url", "headers")
_SEEN_ASCII = re.compile(r"[\x21-\x7e]+")
_HOST = r"[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?"
# Nothing but this: what readers of addresses disagree about (a backslash, something beside the
# brackets, a percent sign in a host) would be checked as one host and called as another.
_URL = re.compile(
    rf"(?i:https?)://(?:(?P<host>{_HOST})|\[(?P<host6>[0-9A-Fa-f:.]+)\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?].*)?"
)
_URL_WITH_USER = re.compile(r"[A-Za-z]+://[^/?]*@")
_MOST_HOST_CHARACTERS = 253
_MOST_PORT = 65_535
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")


def read_webhook(value: object, place: Place, limits: BatchLimits) -> WebhookRequest:
    """Read `webhook`."""
    webhook = read_object(value, place)
    refuse_unknown(webhook, _FIELDS, place)
    url = required(webhook, "url", place, "the address that is called when the batch is decided")
    headers = optional(webhook, "headers", place)
    return WebhookRequest(
        _read_url(url, place.inside("url")),
        _read_headers({} if headers is None else headers, place.inside("headers"), limits),
    )


def _read_url(value: object, place: Place) -> str:
    url = read_text(value, place, "https://example.org/hook")
    fault = _fault_of_text(url) or _fault_of_parts(url)
    if fault:
        raise Refusal(WEBHOOK_MALFORMED, f"{place} {fault}.", path=place.path)
    return url


def _fault_of_text(url: str) -> str:
    if len(url) > MOST_URL_CHARACTERS:
        return f"has {len(url):,} characters; at most {MOST_URL_CHARACTERS:,} are taken"
    if not _SEEN_ASCII.fullmatch(url):
        return "must be an address in visible ASCII; percent-encode whatever else is in it"
    if "#" in url:
        return "must not have a fragment (#), which is never sent"
    return ""


def _fault_of_parts(url: str) -> str:
    if _URL_WITH_USER.match(url):
        return "must not hold a user or password; send them as a header"
    parts = _URL.fullmatch(url)
    if not parts:
        return "must be a whole http or https address, such as https://example.org/hook"
    if not 1 <= int(parts["port"] or 1) <= _MOST_PORT:
        return f"has a port that is none: they are 1 to {_MOST_PORT}"
    if not _can_be_a_host(parts["host"], parts["host6"]):
        return "has a host that cannot be"
    return ""


def _can_be_a_host(host: str | None, host6: str | None) -> bool:
    if host is not None:
        return len(host) <= _MOST_HOST_CHARACTERS
    try:
        IPv6Address(host6 or "")
    except ValueError:
        return False
    return True


def _read_headers(value: object, place: Place, limits: BatchLimits) -> tuple[tuple[str, str], ...]:
    headers: dict[str, tuple[str, str]] = {}
    length = 0
    for name, each in read_object(value, place).items():
        here = place.inside(name)
        text = read_text(each, here, "application/json")
        _check_header(name, text, here)
        if name.lower() in headers:
            raise Refusal(
                DUPLICATE_KEY,
                f"{here} is there twice: capitals make no difference in a header's name.",
                path=place.path,
            )
        headers[name.lower()] = (name, text)
        length += len(name) + len(text)
        _check_limits(len(headers), length, place, limits)
    return tuple(headers.values())


def _check_limits(count: int, length: int, place: Place, limits: BatchLimits) -> None:
    if count > limits.webhook_headers:
        raise Refusal(
            TOO_MANY_WEBHOOK_HEADERS,
            f"A webhook may have at most {counted(limits.webhook_headers, 'header')} here.",
            path=place.path,
        )
    if length > limits.webhook_header_bytes:
        raise Refusal(
            WEBHOOK_HEADERS_TOO_LARGE,
            f"A webhook's headers may have at most {limits.webhook_header_bytes:,} bytes here, "
            "names and values together.",
            path=place.path,
        )


def _check_header(name: str, value: str, place: Place) -> None:
    lowered = name.lower()
    if not _TOKEN.fullmatch(name):
        fault = "no header can have such a name"
    elif lowered in OF_THE_CONNECTION:
        fault = "this header is set by whoever sends the message"
    elif lowered.startswith(OUR_HEADERS):
        fault = "headers whose names begin with Tacitus- are our own, so that they can be trusted"
    elif not _VALUE.fullmatch(value):
        fault = "its value must be visible ASCII, with spaces and tabs only inside it"
    else:
        return
    raise Refusal(WEBHOOK_MALFORMED, f"{place} cannot be sent: {fault}.", path=place.path)
