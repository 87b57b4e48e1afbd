"""No text that is logged holds an API key, however it was written."""

import pytest

from explorer.key_strikeout import STRUCK, strike_out_keys, strike_out_parameters

pytestmark = pytest.mark.no_database

KEY = "tct_0123456789abcdef"

PARAMETERS = [
    f"apiKey={KEY}",
    f"APIKEY={KEY}",
    f"api_key={KEY}",
    f"api.key={KEY}",
    f"apikeys={KEY}",
    f"api+Key={KEY}",
    f"api%2BKey={KEY}",
    f"%61piKey={KEY}",
    f"api%4bey={KEY}",
    f"%2561piKey={KEY}",
    f"apiKey[]={KEY}",
    f"apiKey%5B%5D={KEY}",
    f"apiKey%20={KEY}",
    f"apiKey+={KEY}",
    f"apiKey=,{KEY}",
    f"apiKey=;{KEY}",
    f"apiKey=]{KEY}",
    f"apiKey=%26{KEY}",
    f"apiKey='{KEY}",
    f"apiKey%3D{KEY}",
    f"filter=%7B%22apiKey%22%3A%22{KEY}%22%7D",
    f"next=%2Fx%3FapiKey%3D{KEY}%26batchQueryId%3D1",
    f"next=%252Fx%253FapiKey%253D{KEY}",
]


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_parameter_that_holds_a_key_is_blank(parameter: str) -> None:
    for path in (f"/x?{parameter}", f"/x?{parameter}&b=1", f"/x?a=1&{parameter}"):
        struck = strike_out_parameters(path)
        assert KEY not in struck
        assert STRUCK in struck
        assert strike_out_keys(struck) == struck
    assert strike_out_parameters(f"/x?a=1&{parameter}&b=1").startswith("/x?a=1&")
    assert strike_out_parameters(f"/x?a=1&{parameter}&b=1").endswith("&b=1")


@pytest.mark.parametrize(
    "text",
    [
        *PARAMETERS,
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
    struck = strike_out_keys(f"Asked: {text}")
    assert KEY not in struck
    assert STRUCK in struck


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (f"GET /x?apiKey={KEY}&batchQueryId=1", "&batchQueryId=1"),
        (f"GET /x?apiKey={KEY} 200 in 3 ms", " 200 in 3 ms"),
        (f"{{'apiKey': '{KEY}', 'block': 1}}", ", 'block': 1}"),
    ],
)
def test_what_follows_a_key_is_kept(text: str, end: str) -> None:
    assert strike_out_keys(text).endswith(STRUCK + end)


@pytest.mark.parametrize("text", ["GET /?block=1", "monkey=1", "the keyapi: said", "keys = 3"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert strike_out_keys(text) == text
    assert strike_out_parameters(text) == text
