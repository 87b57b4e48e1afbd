"""No form of a log line holds an API key or what could write to a terminal."""

import json
import logging
import sys
from collections.abc import Callable

import pytest

from explorer.logs import JsonLines, ReadableLines, request_id

pytestmark = pytest.mark.no_database

KEY = "tct_0123456789abcdef"


def _record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    record = logging.LogRecord("tacitus", logging.INFO, __file__, 1, message, arguments, None)
    vars(record).update(more)
    return record


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


def test_a_field_does_not_take_the_place_of_the_lines_own() -> None:
    fields = {"message": "forged", "level": "DEBUG", "logger": "x", "time": "never", "more": 1}
    read = json.loads(JsonLines().format(_record("said", fields=fields)))
    assert (read["message"], read["level"], read["logger"]) == ("said", "INFO", "tacitus")
    assert read["time"] != "never"
    assert read["more"] == 1


def test_a_stack_that_was_asked_for_is_in_the_line() -> None:
    line = JsonLines().format(_record("here", stack_info=f"Stack: apiKey={KEY} in f"))
    assert json.loads(line)["stack"] == "Stack: apiKey=[struck-out] in f"


def test_a_readable_line_cannot_write_to_the_terminal() -> None:
    line = ReadableLines().format(_record("GET /\x1b[2J\r\u202eevil"))
    assert "\x1b" not in line
    assert "\\x1b[2J\\r\\u202eevil" in line
