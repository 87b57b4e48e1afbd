"""No form of a log line holds an API key or what could write to a terminal."""

import json
import logging
import sys
from collections.abc import Callable

import pytest

from explorer.logs import JsonLines, ReadableLines, request_id
from tests.commands import PRODUCTION, Manage

pytestmark = pytest.mark.no_database

KEY = "tct_0123456789abcdef"


def _record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    record = logging.LogRecord("tacitus", logging.INFO, __file__, 1, message, arguments, None)
    vars(record).update(more)
    return record


def _fail(said: str) -> None:
    raise ValueError(said)


@pytest.mark.parametrize("form", [JsonLines, ReadableLines])
def test_no_part_of_a_line_holds_a_key(form: Callable[[], logging.Formatter]) -> None:
    try:
        int(f"/x?apiKey={KEY}")
    except ValueError:
        caught = sys.exc_info()
    record = _record(
        "asked for %s", f"/x?apiKey={KEY}", fields={"path": f"/x?apiKey={KEY}"}, exc_info=caught
    )
    line = form().format(record)
    assert KEY not in line
    assert "ValueError" in line


def test_a_json_line_is_one_object() -> None:
    token = request_id.set("01J2VM6JSA6VKKZ0ENWGYYPR18")
    line = JsonLines().format(_record("a\nb %s", "c", fields={"status": 200}))
    request_id.reset(token)
    assert "\n" not in line
    read = json.loads(line)
    assert read.pop("time").endswith("+00:00")
    assert read == {
        "level": "INFO",
        "logger": "tacitus",
        "message": "a\nb c",
        "request_id": "01J2VM6JSA6VKKZ0ENWGYYPR18",
        "status": 200,
    }


def test_a_key_is_found_however_deep_a_field_holds_it() -> None:
    fields = {
        "url": f"/x?apiKey={KEY}",
        "headers": {"X-API-Key": KEY, "Authorization": ["Bearer", KEY], "Accept": "*/*"},
        "urls": [f"?apiKey={KEY}", (f"?api_key={KEY}", {f"apiKey={KEY}": 1})],
        "error": ValueError(f"apiKey={KEY}"),
        "apiKey": KEY,
        "count": 3,
        "there": True,
    }
    line = JsonLines().format(_record("asked", fields=fields))
    assert KEY not in line
    read = json.loads(line)
    assert (read["count"], read["there"], read["headers"]["Accept"]) == (3, True, "*/*")


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\r", "\\r"),
        ("\x7f", "\\x7f"),
        ("\x9b2J", "\\x9b2J"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
        ("\u202e", "\\u202e"),
        ("\n09:00:00 INFO     forged", "\\n09:00:00 INFO     forged"),
    ],
)
def test_a_readable_line_writes_neither_to_the_terminal_nor_another_line(
    sent: str, shown: str
) -> None:
    try:
        _fail(sent)
    except ValueError:
        record = _record("GET /%s.", sent, exc_info=sys.exc_info(), stack_info="Stack:\n  f")
    first, *trace = ReadableLines().format(record).split("\n")
    assert first.endswith(f" INFO     GET /{shown}.")
    assert len(trace) > 4
    assert all(line.startswith("    ") for line in trace)
    assert sent not in "".join(trace)


SAY = """
import threading, warnings
from explorer.logs import log_what_python_says
log_what_python_says()
warnings.warn("a warning\\nof two lines")
def fail():
    raise RuntimeError("of a thread")
(thread := threading.Thread(target=fail)).start(), thread.join()
raise RuntimeError("of the program")
"""


def test_what_python_says_itself_is_logged_too(manage: Manage) -> None:
    ended = manage("shell", "--no-imports", "--command", SAY, **PRODUCTION)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["WARNING", "CRITICAL", "CRITICAL"]
    assert "a warning\nof two lines" in lines[0]["message"]
    assert "RuntimeError: of a thread" in lines[1]["exception"]
    assert "RuntimeError: of the program" in lines[2]["exception"]
