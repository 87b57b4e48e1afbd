"""No form of a log line holds an API key or what could write to a terminal."""

import json
import logging
import sys
from collections.abc import Callable

import pytest

from explorer.logs import JsonLines, ReadableLines, request_id, strike_out_keys

pytestmark = pytest.mark.no_database

KEY = "tct_0123456789abcdef"


def _record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    record = logging.LogRecord("tacitus", logging.INFO, __file__, 1, message, arguments, None)
    vars(record).update(more)
    return record


@pytest.mark.parametrize(
    "text",
    [
        f"GET /batch-query-status?apiKey={KEY}&batchQueryId=1",
        f"GET /batch-query-status?batchQueryId=1&APIKEY={KEY}",
        f"GET /x?%61piKey={KEY}",
        f"GET /x?api%4bey={KEY}#x",
        f"GET /sign-in?next=%2Fx%3FapiKey%3D{KEY}%26batchQueryId%3D1",
        f"GET /sign-in?next=%252Fx%253FapiKey%253D{KEY}",
        f"api-key: {KEY}",
        f"{{'HTTP_API_KEY': '{KEY}'}}",
        f'{{"apiKey": "{KEY}"}}',
        f"<WSGIRequest: GET '/batch-query-status?apiKey={KEY}'>",
        f"api_key={KEY}",
    ],
)
def test_a_key_is_struck_out(text: str) -> None:
    struck = strike_out_keys(text)
    assert KEY not in struck
    assert "[struck out]" in struck


@pytest.mark.parametrize(
    "text", [f"GET /x?apiKey={KEY}&batchQueryId=1", f"GET /x?next=%3FapiKey%3D{KEY}%26b%3D1"]
)
def test_what_follows_a_key_is_kept(text: str) -> None:
    assert strike_out_keys(text).endswith(text[-4:])


@pytest.mark.parametrize("text", ["GET /?block=1", "monkey=1", "the keyapi: said", "keys = 3"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert strike_out_keys(text) == text


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


def test_a_readable_line_cannot_write_to_the_terminal() -> None:
    line = ReadableLines().format(_record("GET /\x1b[2J\r\u202eevil"))
    assert "\x1b" not in line
    assert "\\x1b[2J\\r\\u202eevil" in line
