"""Refusals: a page of ours for people, JSON in one shape for programs, and nothing repeated."""

from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import InterfaceError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from explorer import urls
from explorer.http.middleware import LARGEST_FORM
from tests.explorer.form_of_a_batch import ADDRESS
from tests.queries.api import served_api

SHAPE = ["error", "code", "path", "retryable"]
ORIGIN = {"origin": "https://dapp.example"}
JSON_FIRST = ["application/json", "application/json;q=.9,*/*;q=.1", "*/*", ""]
HTML_FIRST = ["text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]
FORM = "application/x-www-form-urlencoded"
FORM_WITH_FILES = "multipart/form-data; boundary=x"
# A thousand parts of such headers take Django a second.
SLOW_FORM = 9 * (b'--x\r\nX: a;x="' + 900 * b";" + b'"\r\n\r\n\r\n') + b"--x--"
PUBLIC = [
    "/llms.txt", "/tacitus.py", "/docs/faq.md", "/docs/monitoring/alerts.yml",
    "/contracts/IFactsRegistry.sol", "/contracts/addresses.json", "/contracts/abi/native.json",
]  # fmt: skip
FORMS = ["/keys", "/sign-out", "/sign-in", "/admin/login/", "/nowhere"]


def _raising(fault: Exception) -> Any:
    def view(_request: HttpRequest) -> HttpResponse:
        raise fault

    return view


urlpatterns = [
    path("closed", _raising(PermissionDenied("hunter2"))),
    path("odd", _raising(BadRequest("hunter2"))),
    path("without-database", _raising(InterfaceError("hunter2"))),
    *served_api.urlpatterns,
]
handler400, handler500 = urls.handler400, urls.handler500
pytestmark = [pytest.mark.no_database, pytest.mark.urls(__name__)]


def check(answer: Any, status: int, code: str, *, retryable: bool = False) -> Any:
    told = answer.json()
    assert (answer.status_code, told["code"], told["retryable"]) == (status, code, retryable)
    assert list(told) == SHAPE
    assert answer["Cache-Control"] == "no-store"
    assert "hunter2" not in answer.text
    return told


REFUSALS = [
    ("GET", "/nowhere?hunter2", 404, "There is nothing at this address", "nothing_here"),
    ("GET", "/closed", 403, "You may not see or do this", "not_allowed"),
    ("GET", "/odd", 400, "This request could not be understood", "bad_request"),
    ("GET", "/broken", 500, "Something broke on our side", "fault_of_ours"),
    ("GET", "/without-database", 503, "The service is busy", "unavailable"),
    ("GET", "/hunter2", 400, "This is not one of this service", "host_unknown"),
    ("POST", "/sign-in", 403, "This form could not be trusted", "not_allowed"),
]


def test_a_refusal_is_a_page_for_people_and_the_shape_for_programs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    for method, address, status, said, code in REFUSALS:
        caplog.clear()
        host = {"Host": "hunter2.example" if code == "host_unknown" else "testserver"}
        page = client.generic(method, address, headers={"Accept": "text/html"} | host)
        assert page.status_code == status, address
        assert said in page.text
        assert "hunter2" not in page.text
        assert "default-src 'none'" in page["Content-Security-Policy"]
        answer = client.generic(method, address, headers={"Accept": "application/json"} | host)
        told = check(answer, status, code, retryable=status >= 500)
        assert settings.SITE_HOST not in told["error"]
        if status == 500:
            assert f"<code>{page['X-Request-ID']}</code>" in page.text
            assert answer["X-Request-ID"] in told["error"]
        if status == 503:
            assert page["Retry-After"] == answer["Retry-After"] == "5"
        if status >= 500:
            assert "hunter2" in caplog.text  # with its trace
        else:
            assert f"Tacitus {settings.VERSION}" in page.text


@pytest.mark.parametrize("accept", JSON_FIRST + HTML_FIRST)
def test_an_address_of_nothing_answers_in_what_is_asked_for(accept: str) -> None:
    answer = Client().get("/nowhere", headers={"accept": accept} if accept else {})
    if accept in JSON_FIRST:
        check(answer, 404, "nothing_here")
    else:
        assert answer.status_code == 404
        assert "There is nothing at this address" in answer.text
    # A program shows itself by what it sends, or by a key in the address; a page of ours by htmx.
    check(Client().post("/nowhere", "{}", content_type="application/json"), 404, "nothing_here")
    check(Client().get("/nowhere?apiKey=x"), 404, "nothing_here")
    part = Client().get("/nowhere", headers={"accept": "*/*", "HX-Request": "true"})
    assert (part.status_code, part["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_another_method_gets_the_methods_allowed() -> None:
    for address, allowed in (
        ("/submit-batch-query", "POST"),
        ("/batch-query-status", "GET, HEAD"),
        ("/api-key", "GET, HEAD"),
    ):
        # With a form's token checked: a program has none, and is told of the method all the same.
        answer = Client(enforce_csrf_checks=True).put(address)
        told = check(answer, 405, "method_not_allowed")
        assert answer["Allow"] == allowed
        assert told["error"] == f"This address does not accept PUT; it accepts {allowed}."
    for address in ("/", "/explorer/batches", "/docs/security"):
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            page = Client(headers={"Accept": "text/html"}).generic(method, address)
            assert (page.status_code, page["Allow"]) == (405, "GET, HEAD")


def test_plain_http_is_refused_to_programs_and_sends_people_on(settings: LazySettings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/").status_code == 301
    for ask in (Client().post, Client().get):
        answer = ask("/submit-batch-query")
        told = check(answer, 403, "https_needed")
        assert settings.SITE_URL in told["error"]
        assert "Location" not in answer
    assert Client().get("/is-alive", secure=True).status_code == 200


def test_a_browser_asks_first_from_any_origin_and_pages_are_for_their_own(
    settings: LazySettings,
) -> None:
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "api-key, authorization, content-type, idempotency-key, "
        "if-none-match",
    }
    client = Client(enforce_csrf_checks=True)
    for address in [*urls.API_PATHS, *PUBLIC, "/nowhere", "/submit", "/contracts/nothing"]:
        answer = client.options(address, headers=ORIGIN | asked)
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer
        assert answer["Access-Control-Allow-Headers"] == asked["access-control-request-headers"]
        assert answer["Access-Control-Allow-Methods"] == "GET, HEAD, POST"
        assert "X-Request-ID" in answer
    told = client.post("/submit", "{}", "application/json", headers=ORIGIN)
    check(told, 404, "nothing_here")
    assert told["Access-Control-Allow-Origin"] == "*"
    for address in ("/docs/how-it-works", "/sign-in", "/docs/faq", "/dashboard", "/docs"):
        for ask in (client.get, client.options):
            assert "Access-Control-Allow-Origin" not in ask(address, headers=ORIGIN | asked)
    settings.API_CORS = False
    for address in ("/batch-queries", *PUBLIC, "/nowhere"):
        for ask in (client.get, client.options):
            assert "Access-Control-Allow-Origin" not in ask(address, headers=ORIGIN | asked)


def test_a_file_is_for_pages_of_any_origin_and_not_sent_again_unchanged() -> None:
    for address in PUBLIC:
        first = Client().get(address, headers=ORIGIN)
        assert first.status_code == 200
        again = Client().get(address, headers=ORIGIN | {"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        for answer in (first, again):
            assert answer["Access-Control-Allow-Origin"] == "*"
            assert "ETag" in answer["Access-Control-Expose-Headers"]
            assert answer["Cache-Control"] == "public, no-cache"
            assert {"Set-Cookie", "Vary"}.isdisjoint(answer.headers)
        other = Client().get(address, headers={"If-None-Match": '"other"'})
        assert (other.status_code, other.content) == (200, first.content)


@pytest.mark.parametrize(
    ("site", "named"), [("", "http://127.0.0.1:8700"), ("https://proofs.example.org",) * 2]
)
def test_answers_name_the_address_at_which_the_service_can_be_reached(
    settings: LazySettings, site: str, named: str
) -> None:
    """As the operator set it; a demo at another port names that port."""
    if site:
        settings.SITE_URL, settings.SITE_URL_IS_GUESSED = site, False
    client = Client(headers={"Host": "127.0.0.1:8700", "Accept": "application/json"})
    assert f"({named}/docs/api.md)" in client.get("/llms.txt").text
    assert f"{named}/dashboard shows it." in client.get("/batch-queries").text
    assert f"{named}/docs/api lists all addresses." in client.get("/nowhere").text
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    stranger = client.get("/nowhere", headers={"Host": "evil.example"})
    assert "evil.example" not in stranger.text


TOO_LARGE = (413, "This request is too large", "body_too_large")
WITH_FILES = (415, "No form here sends files", "content_type_unsupported")
BODIES = [
    ("text/plain", b"y" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1), TOO_LARGE),
    (FORM, b"x=" + b"%" * (LARGEST_FORM - 1), TOO_LARGE),
    (f"{FORM.upper()}; charset=utf-8", b"x=" + b"%" * (LARGEST_FORM - 1), TOO_LARGE),
    (FORM_WITH_FILES, SLOW_FORM, WITH_FILES),
    (f" {FORM_WITH_FILES.upper()}", SLOW_FORM, WITH_FILES),
]


def test_a_body_that_no_form_here_has_is_not_read() -> None:
    """A form is small unless it is a new batch's, and none has files."""
    client = Client(enforce_csrf_checks=True)
    for kind, body, (status, said, code) in BODIES:
        for place in [*FORMS, ADDRESS] if status == 415 else FORMS:
            page = client.post(place, body, content_type=kind, headers={"Accept": "text/html"})
            assert page.status_code == status, (place, kind)
            assert said in page.text
            assert "Content-Security-Policy" in page
            check(client.post(place, body, content_type=kind), status, code)
