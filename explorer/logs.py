"""The two forms of a log line.

API keys are struck out where a line is formed, after everything else, so that no logger can
forget to.
"""

import json
import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime

from explorer.key_strikeout import STRUCK, names_a_secret, strike_out_keys

request_id: ContextVar[str] = ContextVar("request_id", default="")

CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


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
    if value is None or isinstance(value, bool | int | float):
        return value
    return strike_out_keys(str(value))


class ReadableLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-8s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if current := request_id.get():
            first, *rest = line.split("\n", 1)
            line = "\n".join([f"{first}  [{current[-6:]}]", *rest])
        # What a visitor sent must not write to the operator's terminal.
        return CONTROL_CHARACTERS.sub(lambda found: repr(found[0])[1:-1], strike_out_keys(line))
