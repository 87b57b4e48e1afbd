"""No text that is logged holds an API key, however it was written."""

import time
from collections.abc import Callable

import pytest

from accounts.key_text import KEY_PREFIX
from explorer.logs import (
    LONGEST_PATH,
    LONGEST_TEXT,
    STRUCK,
    names_a_secret,
    strike_out_keys,
    strike_out_parameters,
)

pytestmark = pytest.mark.no_database

KEY = "0123456789-of-another-service"  # nothing in it says that it is a key
OWN_KEY = f"{KEY_PREFIX}0123456789_Ab-c"

PARAMETERS = [
    f"apiKey={KEY}",
    f"APIKEY={KEY}",
    f"api_key={KEY}",
    f"api+Key={KEY}",
    f"%2561piKey={KEY}",
    f"apiKey%5B%5D={KEY}",
    f"apiKey=%26{KEY}",
    f"filter=%7B%22apiKey%22%3A%22{KEY}%22%7D",
    f"next=%252Fx%253FapiKey%253D{KEY}",
]


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_parameter_that_holds_a_key_is_blank(parameter: str) -> None:
    for path in (f"/x?{parameter}", f"/x?{parameter}&b=1", f"/x?a=1&{parameter}"):
        struck = strike_out_parameters(path)
        assert KEY not in struck
        assert STRUCK in struck
    assert strike_out_parameters(f"/x?a=1&{parameter}&b=1").startswith("/x?a=1&")
    assert strike_out_parameters(f"/x?a=1&{parameter}&b=1").endswith("&b=1")


@pytest.mark.parametrize(
    "text",
    [
        f"apiKey={KEY}",
        f"api_key={KEY}",
        f"apiKey%3D{KEY}",
        f"next=%2Fx%3FapiKey%3D{KEY}",
        f"api-key: {KEY}",
        f"X-API-Key: {KEY}",
        f"Authorization: Bearer {KEY}",
        f"{{'HTTP_AUTHORIZATION': 'Bearer {KEY}'}}",
        f"{{'HTTP_API_KEY': '{KEY}'}}",
        f'{{"apiKey": "{KEY}"}}',
        f'{{"apiKey": "a {KEY}"}}',
        f'{{\\"apiKey\\": \\"{KEY}\\"}}',
        f"%7B%22apiKey%22%3A%22{KEY}",
        f"<QueryDict: {{'apiKey': ['{KEY}']}}>",
        f"<QueryDict: {{'apiKey': [']{KEY}', '{KEY}']}}>",
        f"<WSGIRequest: GET '/batch-query-status?apiKey={KEY}'>",
    ],
)
def test_a_key_in_any_text_is_struck_out(text: str) -> None:
    struck = strike_out_keys(f"Asked: {text}\nand more")
    assert KEY not in struck
    assert STRUCK in struck
    assert struck.endswith("\nand more")


@pytest.mark.parametrize("text", ["GET /?block=1", "monkey=1", "the keyapi: said", "keys = 3"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert strike_out_keys(text) == text
    assert strike_out_parameters(text) == text


@pytest.mark.parametrize(
    "path",
    [
        f"/submit/apiKey/{OWN_KEY}",
        f"/x?key={OWN_KEY}",
        f"/x?token={OWN_KEY}&b=1",
        f"/x?{OWN_KEY}=1",
        f"/x?q=tct%5F{OWN_KEY[4:]}",
        f"/x?q=tct%255f{OWN_KEY[4:]}",
        f"/x?q=tct_%30{OWN_KEY[5:]}",
    ],
)
def test_a_key_of_ours_is_known_wherever_it_stands(path: str) -> None:
    for struck in (strike_out_parameters(path), strike_out_keys(f"Asked: {path}")):
        assert OWN_KEY[5:] not in struck
        assert STRUCK in struck


def test_a_long_text_is_cut_and_says_so() -> None:
    text = f"/{LONGEST_TEXT * 'x'}"
    assert strike_out_keys(text) == f"{text[:-1]} [cut: 1 characters more]"
    path = f"/x?apiKey=1&a={LONGEST_PATH * 'x'}"
    struck = strike_out_parameters(path)
    assert struck.startswith(f"/x?apiKey={STRUCK}&a=xxx")
    assert struck.endswith("x [cut: 14 characters more]")
    assert strike_out_parameters(path[:LONGEST_PATH]).endswith("x")


HOSTILE = [
    "%25", "%", "%2561", "%61%70%69", "a=%2525", "a&", "api", "api.", "api%2", "api%25", "apikey",
    "apikey=", "apikey ", "apikey%", "apikey%25%25", "apikey=['&", 'apikey=\\"', "apikey=\n",
    "authorization", "authorization ", "tct", "tct_", "tct%252525", "[struck-out]", " ", "\n",
]  # fmt: skip


@pytest.mark.parametrize("function", [strike_out_keys, strike_out_parameters, names_a_secret])
def test_no_text_takes_long(function: Callable[[str], object]) -> None:
    """A visitor chooses the text, and the log's lock is held meanwhile. A few ms, in truth."""
    for shape in HOSTILE:
        text = "/x?" + (shape * 100_000)[:100_000]
        begin = time.process_time()
        function(text)
        assert time.process_time() - begin < 0.1, shape
