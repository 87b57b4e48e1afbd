"""Log lines have no API keys, no identities, and no terminal control characters."""

import json
import logging
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import requests
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from accounts.keys import manage
from accounts.keys.text import KEY_PREFIX
from accounts.models import Account, Session
from explorer.http.logs import (
    MAX_PATH_LENGTH,
    MAX_TEXT_LENGTH,
    REDACTION,
    JsonLines,
    ReadableLines,
    is_secret_name,
    redact_keys,
    redact_parameters,
    request_id,
)
from tests.accounts.signers import Signer
from tests.rigs.service import Service

KEY = "0123456789-of-another-service"  # not recognisable as a key by itself
OWN_KEY = f"{KEY_PREFIX}0123456789_Ab-c"
IP_ADDRESS = "192.0.2.77"
QUERY_STRINGS = [
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
TEXTS = [
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
]
PATHS_WITH_OWN_KEY = [
    f"/submit/apiKey/{OWN_KEY}",
    f"/x?key={OWN_KEY}",
    f"/x?token={OWN_KEY}&b=1",
    f"/x?{OWN_KEY}=1",
    f"/x?q=tct%5F{OWN_KEY[4:]}",
    f"/x?q=tct%255f{OWN_KEY[4:]}",
    f"/x?q=tct_%30{OWN_KEY[5:]}",
]
SLOW_PATTERNS = [
    "%25", "%", "%2561", "%61%70%69", "a=%2525", "a&", "api", "api.", "api%2", "api%25", "apikey",
    "apikey=", "apikey ", "apikey%", "apikey%25%25", "apikey=['&", 'apikey=\\"', "apikey=\n",
    "authorization", "authorization ", "tct", "tct_", "tct%252525", "[redacted]", " ", "\n",
]  # fmt: skip


@pytest.mark.no_database
def test_keys_are_redacted_in_any_spelling() -> None:
    for parameter in QUERY_STRINGS:
        for path in (f"/x?{parameter}", f"/x?{parameter}&b=1"):
            struck = redact_parameters(path)
            assert (KEY in struck, REDACTION in struck) == (False, True), path
        struck = redact_parameters(f"/x?a=1&{parameter}&b=1")
        assert (KEY in struck, struck[:7], struck[-4:]) == (False, "/x?a=1&", "&b=1"), parameter
    for text in TEXTS:
        struck = redact_keys(f"Asked: {text}\nand more")
        assert (KEY in struck, REDACTION in struck) == (False, True), text
        assert struck.endswith("\nand more")
    for path in PATHS_WITH_OWN_KEY:  # recognised anywhere
        for struck in (redact_parameters(path), redact_keys(f"Asked: {path}")):
            assert (OWN_KEY[5:] in struck, REDACTION in struck) == (False, True), path
    for text in ("GET /?block=1", "monkey=1", "the keyapi: said", "keys = 3"):
        assert redact_keys(text) == redact_parameters(text) == text


@pytest.mark.no_database
def test_long_texts_are_cut_and_never_slow() -> None:
    """Clients choose the text, and the log is locked while a line is formatted."""
    text = f"/{MAX_TEXT_LENGTH * 'x'}"
    assert redact_keys(text) == f"{text[:-1]} [cut: 1 characters more]"
    path = f"/x?apiKey=1&a={MAX_PATH_LENGTH * 'x'}"
    struck = redact_parameters(path)
    assert struck.startswith(f"/x?apiKey={REDACTION}&a=xxx")
    assert struck.endswith("x [cut: 14 characters more]")
    for function in (redact_keys, redact_parameters, is_secret_name):
        for pattern in SLOW_PATTERNS:
            text = "/x?" + (pattern * 100_000)[:100_000]
            begin = time.process_time()
            function(text)
            assert time.process_time() - begin < 0.1, (function, pattern)


def _record(message: str, *arguments: object, **more: object) -> logging.LogRecord:
    record = logging.LogRecord("tacitus", logging.INFO, __file__, 1, message, arguments, None)
    vars(record).update(more)
    return record


def _fail(message: str) -> None:
    raise ValueError(message)


@pytest.mark.no_database
@pytest.mark.parametrize("formatter", [JsonLines, ReadableLines])
def test_no_part_of_a_line_has_a_key(formatter: Callable[[], logging.Formatter]) -> None:
    try:
        _fail(f"/x?apiKey={KEY}")
    except ValueError:
        exc_info = sys.exc_info()
    fields = {
        "url": f"/x?apiKey={KEY}",
        "headers": {"X-API-Key": KEY, "Authorization": ["Bearer", KEY], "Accept": "*/*"},
        "urls": [f"?apiKey={KEY}", (f"?api_key={KEY}", {f"apiKey={KEY}": 1})],
        "error": ValueError(f"apiKey={KEY}"),
        "apiKey": KEY,
        "count": 3,
        "flag": True,
    }
    token = request_id.set("01J2VM6JSA6VKKZ0ENWGYYPR18")
    line = formatter().format(
        _record("a\nb %s", f"?apiKey={KEY}", fields=fields, exc_info=exc_info)
    )
    request_id.reset(token)
    assert KEY not in line
    assert "ValueError" in line
    if formatter is JsonLines:
        assert "\n" not in line
        read = json.loads(line)
        assert read["time"].endswith("+00:00")
        assert (read["level"], read["logger"]) == ("INFO", "tacitus")
        assert (read["message"], read["request_id"]) == (
            f"a\nb ?apiKey={REDACTION}",
            "01J2VM6JSA6VKKZ0ENWGYYPR18",
        )
        assert (read["count"], read["flag"], read["headers"]["Accept"]) == (3, True, "*/*")


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("text", "escaped"),
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
def test_control_characters_are_escaped(text: str, escaped: str) -> None:
    try:
        _fail(text)
    except ValueError:
        record = _record("GET /%s.", text, exc_info=sys.exc_info(), stack_info="Stack:\n  f")
    first, *trace = ReadableLines().format(record).split("\n")
    assert first.endswith(f" INFO     GET /{escaped}.")
    assert len(trace) > 4
    assert all(line.startswith("    ") for line in trace)
    assert text not in "".join(trace)


@pytest.mark.no_database
def test_a_request_is_one_line_with_its_id_and_any_unknown_host(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answer = client.get("/nowhere?%2561piKey%5B%5D=,hidden&x=%0d%0a")
    unknown_host = client.get("/", headers={"Host": "proofs.example\u202e" + 300 * "x"})
    assert (answer.status_code, unknown_host.status_code) == (404, 400)
    assert len(answer["X-Request-ID"]) == 26
    assert answer["X-Request-ID"] != unknown_host["X-Request-ID"]
    assert request_id.get() == ""
    line, other = [record for record in caplog.records if record.name == "tacitus.requests"]
    fields = vars(line)["fields"]
    assert (fields["status"], fields["path"]) == (404, "/nowhere?[redacted]&x=%0d%0a")
    assert "host" not in fields
    assert "hidden" not in line.getMessage()
    assert "\n" not in line.getMessage()
    assert len(vars(other)["fields"]["host"]) == 260
    assert " for host 'proofs.example\\u202exxx" in other.getMessage()


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("request_header", "behind_proxy", "accepted"),
    [
        ("f3c1-from-the-proxy", True, True),
        ("f3c1-from-a-stranger", False, False),
        ("short", True, False),
        ("f3c1-from-the-proxy and more", True, False),
        (65 * "x", True, False),
    ],
)
def test_only_a_proxy_chooses_the_request_id(
    client: Client, settings: Settings, request_header: str, *, behind_proxy: bool, accepted: bool
) -> None:
    settings.BEHIND_PROXY = behind_proxy
    answer = client.get("/healthz", headers={"X-Request-ID": request_header})
    assert (answer["X-Request-ID"] == request_header) is accepted


@pytest.mark.django_db
def test_no_line_has_identities_addresses_or_secrets(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.BEHIND_PROXY = True
    caplog.set_level(logging.DEBUG)
    person, stranger = Signer(), Signer()
    for signer in (person, stranger):
        signer.client.defaults |= {"REMOTE_ADDR": IP_ADDRESS, "HTTP_X_FORWARDED_FOR": IP_ADDRESS}
    assert person.sign_in().status_code == 200
    owner = Account.objects.get()
    key = owner.keys.get()
    own = {"api-key": manage.reveal(key) or ""}
    message = person.message()
    assert person.send_signature(message, stranger.sign(message)).status_code >= 400
    answers = [
        person.client.get("/dashboard/keys"),
        person.client.get("/api-key", headers=own),
        person.client.get("/api-key", headers={"api-key": f"{own['api-key'][:-4]}aaaa"}),
        person.client.get("/batch-queries", headers=own),
        person.post("/submit-batch-query", {}, **own),
        person.post(f"/keys/{key.pk}/rename", {"name": "x"}),
        person.client.post("/sign-out-everywhere"),  # without a CSRF token
        person.client.get("/admin/"),
    ]
    assert {200, 302, 400, 401, 403} <= {answer.status_code for answer in answers}
    lines = [JsonLines().format(record) for record in caplog.records]
    assert sum("tacitus.requests" in line for line in lines) > len(answers)
    log = "\n".join(lines).lower().replace(f"/keys/{key.pk}/".lower(), "/keys/requested/")
    secrets = (IP_ADDRESS, owner.address or "", key.pk, Session.objects.get().pk)
    for secret in (*secrets, person.client.cookies["session"].value):
        assert secret
        assert secret.lower() not in log
        assert secret.lower().removeprefix("0x") not in log


@pytest.mark.no_database
def test_in_a_database_outage_each_request_logs_one_error(tmp_path: Path) -> None:
    """The error and the request's line have the same id."""
    key = f"{KEY_PREFIX}{10 * 'a'}_{32 * 'b'}"
    with closing(Service(tmp_path, "postgres://nobody@127.0.0.1:1/nothing", [key])) as service:
        server = service.serve()
        session = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={32 * 'a'}"}
        for ask in (
            lambda: service.get("/batch-queries"),
            lambda: service.post("/submit-batch-query", {}),
            lambda: requests.get(service.url, headers={"Accept": "text/html"}, timeout=30),
            lambda: requests.get(f"{service.url}/dashboard", headers=session, timeout=30),
            lambda: requests.get(f"{service.url}/nowhere", headers=session, timeout=30),
            lambda: requests.get(f"{service.url}/readyz", timeout=30),
            lambda: requests.get(f"{service.url}/metrics", timeout=30),
        ):
            earlier_lines = server.log.splitlines()
            response = ask()
            lines = server.log.splitlines()[len(earlier_lines) :]
            assert response.status_code == 503, lines
            error_line, request_line = lines
            sentence = "ERROR    The database cannot be used: connection failed: "
            assert sentence in error_line
            assert " 503 in " in request_line
            suffix = f"[{response.headers['X-Request-ID'][-6:]}]"
            assert error_line.endswith(suffix)
            assert request_line.endswith(suffix)
