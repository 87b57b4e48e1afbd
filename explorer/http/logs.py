"""Log formatters for lines and JSON, which add the request's id and redact API keys. A filter drops
repetitions.

Keys are redacted last, when a line is formatted, so that no logger can write one.
"""

import json
import logging
import re
import sys
import threading
import time
from collections.abc import Collection, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from math import isfinite
from types import TracebackType
from urllib.parse import unquote_plus

from accounts.keys.text import KEY_PREFIX

request_id: ContextVar[str] = ContextVar("request_id", default="")

log = logging.getLogger("tacitus")

CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def log_warnings_and_exceptions() -> None:
    """Log warnings and uncaught exceptions, which Python would write to stderr unformatted."""
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_exception
    threading.excepthook = lambda args: _log_exception(
        args.exc_type, args.exc_value, args.exc_traceback
    )


def _log_exception(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    log.critical("Uncaught exception.", exc_info=(kind, error or kind(), trace))


REPEATED_AFTER = 60.0  # seconds
MAX_MESSAGES = 10_000  # that are remembered


class RepetitionFilter(logging.Filter):
    """Drops what these loggers have logged less than a minute ago.

    Provers ask again every second or so while nodes, the broker or the database do not answer.
    """

    def __init__(self, loggers: Collection[str]) -> None:
        super().__init__()
        self._loggers = loggers
        self._logged_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name not in self._loggers:
            return True
        now, error = time.monotonic(), record.exc_info and record.exc_info[1]
        message = f"{record.getMessage()} {error!r}"
        if now < self._logged_at.get(message, -REPEATED_AFTER) + REPEATED_AFTER:
            return False
        if len(self._logged_at) >= MAX_MESSAGES:
            self._logged_at.clear()
        self._logged_at[message] = now
        return True


class JsonLines(logging.Formatter):
    """One JSON object a line; the members of `extra={"fields": {…}}` are added to it."""

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
        # `line` is merged last too, so that no field overwrites its members.
        return json.dumps(_redact(line | getattr(record, "fields", {}) | line))


def _redact(value: object) -> object:
    if isinstance(value, Mapping):
        return {
            redact_keys(str(name)): REDACTION if is_secret_name(str(name)) else _redact(member)
            for name, member in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_redact(member) for member in value]
    if value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        return value
    return redact_keys(str(value))


class ReadableLines(logging.Formatter):
    """A readable line. Control characters are escaped, so that no visitor can forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        time = self.formatTime(record, "%H:%M:%S")
        message = _escape_controls(redact_keys(record.getMessage()))
        id_suffix = f"  [{current[-6:]}]" if (current := request_id.get()) else ""
        lines = [f"{time} {record.levelname:8} {message}{id_suffix}"]
        traces = [self.formatException(record.exc_info)] if record.exc_info else []
        traces += [record.stack_info] if record.stack_info else []
        for trace in traces:
            lines += [f"    {_escape_controls(line)}" for line in redact_keys(trace).split("\n")]
        return "\n".join(lines)


def _escape_controls(text: str) -> str:
    return CONTROL_CHARACTERS.sub(lambda match: repr(match[0])[1:-1], text)


REDACTION = "[redacted]"
SECRET_NAMES = ("apikey", "authorization")
MAX_PATH_LENGTH = 2_000
MAX_TEXT_LENGTH = 20_000
MAX_DECODINGS = 4


def redact_parameters(path: str) -> str:
    """Redact query parameters whose name or value, however encoded, looks like a key."""
    location, mark, query = path[:MAX_PATH_LENGTH].partition("?")
    redacted_path = location + mark + "&".join(map(_redact_parameter, query.split("&")))
    return API_KEY.sub(REDACTION, redacted_path) + _cut_mark(path, MAX_PATH_LENGTH)


def redact_keys(text: str) -> str:
    """Redact keys, and after a key's name everything up to the next `&` or line."""
    redacted_text = SECRET_ASSIGNMENT.sub(
        rf"\1{REDACTION}", API_KEY.sub(REDACTION, text[:MAX_TEXT_LENGTH])
    )
    return redacted_text + _cut_mark(text, MAX_TEXT_LENGTH)


def is_secret_name(text: str) -> bool:
    letters = "".join(filter(str.isalpha, text)).lower()
    return any(name in letters for name in SECRET_NAMES)


def _cut_mark(text: str, limit: int) -> str:
    return f" [cut: {len(text) - limit} characters more]" if len(text) > limit else ""


def _redact_parameter(text: str) -> str:
    decoded_text = text
    for _ in range(MAX_DECODINGS):
        decoded_text = unquote_plus(decoded_text)
    if not is_secret_name(decoded_text) and KEY_PREFIX not in decoded_text.lower():
        return text
    name, equals, _ = text.partition("=")
    return f"{name}={REDACTION}" if equals and re.fullmatch(r"[\w.-]+", name) else REDACTION


ENCODED_PERCENT = "%(?:25){0,3}"  # percent signs may be encoded themselves
API_KEY = re.compile(rf"tct(?:_|{ENCODED_PERCENT}5f)[A-Za-z0-9_%-]+", re.IGNORECASE)
SECRET_ASSIGNMENT = re.compile(
    rf"""(
          (?: api (?: {ENCODED_PERCENT}[0-9a-f]{{2}} | [^a-z0-9&%] ){{0,9}} key | authorization )
          [^=:&\s]{{0,30}}? \s{{0,3}} (?: [=:] | {ENCODED_PERCENT}3[da] ) \s{{0,3}}
         )
         (?! \[redacted\] ) [^&\n]+""",
    re.IGNORECASE | re.VERBOSE,
)
