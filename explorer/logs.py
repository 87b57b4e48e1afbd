"""The two forms of a log line, and what no line may hold.

API keys travel in URLs, because existing clients send them there. They are struck out where
a line is formed, after everything else, so that no logger can forget to.
"""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime

request_id: ContextVar[str] = ContextVar("request_id", default="")


def _spelled(word: str) -> str:
    """A pattern for `word` in which each character may be percent-encoded, more than once."""
    return "".join(
        f"(?:{re.escape(char)}|%(?:25)*(?:{ord(char.lower()):02x}|{ord(char.upper()):02x}))"
        for char in word
    )


# apiKey=…, api-key: …, 'HTTP_API_KEY': '…' and their percent-encoded forms. The value ends
# where a query parameter ends, or at the quote or space that closes it.
API_KEY = re.compile(
    rf"""({_spelled("api")}(?:[-_ ]|%(?:25)*(?:2d|5f|20))?{_spelled("key")}
          ["']? \s* (?:[=:]|%(?:25)*3[da]) \s* ["']?)
         ((?:(?!%(?:25)*26)[^&\s"',;<>)}}\]])+)""",
    re.IGNORECASE | re.VERBOSE,
)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def strike_out_keys(text: str) -> str:
    return API_KEY.sub(r"\1[struck out]", text)


class JsonLines(logging.Formatter):
    """One JSON object a line; `extra={"fields": {…}}` of a call become its members."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": strike_out_keys(record.getMessage()),
        }
        if current := request_id.get():
            line["request_id"] = current
        for name, value in getattr(record, "fields", {}).items():
            line[name] = strike_out_keys(value) if isinstance(value, str) else value
        if record.exc_info:
            line["exception"] = strike_out_keys(self.formatException(record.exc_info))
        return json.dumps(line, default=lambda value: strike_out_keys(str(value)))


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
