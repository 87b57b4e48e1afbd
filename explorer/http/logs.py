"""How the log is written: lines or JSON, with the request's id and without keys.

API keys are struck out where a line is formed, after everything else, so that no logger can leave
one in.
"""

import json
import logging
import math
import re
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from urllib.parse import unquote_plus

from accounts.keys.text import KEY_PREFIX

request_id: ContextVar[str] = ContextVar("request_id", default="")

log = logging.getLogger("tacitus")

CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def log_what_python_says() -> None:
    """Python would write warnings and uncaught exceptions to stderr as they are."""
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_fault
    threading.excepthook = lambda fault: _log_fault(
        fault.exc_type, fault.exc_value, fault.exc_traceback
    )


def _log_fault(
    kind: type[BaseException], fault: BaseException | None, trace: TracebackType | None
) -> None:
    log.critical("A fault that nothing caught.", exc_info=(kind, fault or kind(), trace))


class JsonLines(logging.Formatter):
    """One JSON object a line; `extra={"fields": {…}}` of a call become its members."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if current := request_id.get():
            line["request_id"] = current
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        # The line again at the end: a field cannot take the place of what the line itself says.
        return json.dumps(_without_keys(line | getattr(record, "fields", {}) | line))


def _without_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            strike_out_keys(str(name)): STRUCK if names_a_secret(str(name)) else _without_keys(held)
            for name, held in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_without_keys(held) for held in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return strike_out_keys(str(value))


class ReadableLines(logging.Formatter):
    """A line for reading. Nothing that a visitor sent begins another, or writes to a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        time = self.formatTime(record, "%H:%M:%S")
        message = _escaped(strike_out_keys(record.getMessage()))
        end = f"  [{current[-6:]}]" if (current := request_id.get()) else ""
        lines = [f"{time} {record.levelname:8} {message}{end}"]
        traces = [self.formatException(record.exc_info)] if record.exc_info else []
        traces += [record.stack_info] if record.stack_info else []
        for trace in traces:
            lines += [f"    {_escaped(line)}" for line in strike_out_keys(trace).split("\n")]
        return "\n".join(lines)


def _escaped(text: str) -> str:
    return CONTROL_CHARACTERS.sub(lambda found: repr(found[0])[1:-1], text)


STRUCK = "[struck-out]"
SECRET_NAMES = ("apikey", "authorization")
LONGEST_PATH = 2_000
LONGEST_TEXT = 20_000
TIMES_ENCODED = 4


def strike_out_parameters(path: str) -> str:
    """`path`, with no query parameter whose name or value, however encoded, speaks of a key."""
    place, mark, query = path[:LONGEST_PATH].partition("?")
    struck = place + mark + "&".join(map(_parameter, query.split("&")))
    return OWN_KEY.sub(STRUCK, struck) + _what_was_cut(path, LONGEST_PATH)


def strike_out_keys(text: str) -> str:
    """`text` of any kind without keys: from a key's name, all up to the next `&` or line."""
    struck = NAMED_SECRET.sub(rf"\1{STRUCK}", OWN_KEY.sub(STRUCK, text[:LONGEST_TEXT]))
    return struck + _what_was_cut(text, LONGEST_TEXT)


def names_a_secret(text: str) -> bool:
    letters = "".join(filter(str.isalpha, text)).lower()
    return any(name in letters for name in SECRET_NAMES)


def _what_was_cut(text: str, longest: int) -> str:
    return f" [cut: {len(text) - longest} characters more]" if len(text) > longest else ""


def _parameter(text: str) -> str:
    decoded = text
    for _ in range(TIMES_ENCODED):
        decoded = unquote_plus(decoded)
    if not names_a_secret(decoded) and KEY_PREFIX not in decoded.lower():
        return text
    name, equals, _ = text.partition("=")
    return f"{name}={STRUCK}" if equals and re.fullmatch(r"[\w.-]+", name) else STRUCK


ENCODED = "%(?:25){0,3}"  # percent signs may be encoded themselves
OWN_KEY = re.compile(rf"tct(?:_|{ENCODED}5f)[A-Za-z0-9_%-]+", re.IGNORECASE)
NAMED_SECRET = re.compile(
    rf"""(
          (?: api (?: {ENCODED}[0-9a-f]{{2}} | [^a-z0-9&%] ){{0,9}} key | authorization )
          [^=:&\s]{{0,30}}? \s{{0,3}} (?: [=:] | {ENCODED}3[da] ) \s{{0,3}}
         )
         (?! \[struck-out\] ) [^&\n]+""",
    re.IGNORECASE | re.VERBOSE,
)
