"""Error responses: a page for browsers, JSON for programs, and no echo of the request."""

from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import InterfaceError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from explorer import urls
from explorer.http.middleware import MAX_FORM_BYTES
from tests.explorer.batch_form import FORM_URL
from tests.queries.api import served_api

SHAPE = ["error", "code", "path", "retryable"]
ORIGIN = {"origin": "https://dapp.example"}
JSON_FIRST = ["application/json", "application/json;q=.9,*/*;q=.1", "*/*", ""]
HTML_FIRST = ["text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]
FORM = "application/x-www-form-urlencoded"
FORM_WITH_FILES = "multipart/form-data; boundary=x"
# Django needs a second for a thousand parts with such headers.
SLOW_FORM = 9 * (b'--x\r\nX: a;x="' + 900 * b";" + b'"\r\n\r\n\r\n') + b"--x--"
PUBLIC = [
    "/llms.txt", "/tacitus.py", "/docs/faq.md", "/docs/monitoring/alerts.yml",
    "/contracts/IFactsRegistry.sol", "/contracts/addresses.json", "/contracts/abi/native.json",
]  # fmt: skip
FORM_URLS = ["/keys", "/sign-out", "/sign-in", "/admin/login/", "/nowhere"]


def _raising(error: Exception) -> Any:
    def view(_request: HttpRequest) -> HttpResponse:
        raise error

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
    body = answer.json()
    assert (answer.status_code, body["code"], body["retryable"]) == (status, code, retryable)
    assert list(body) == SHAPE
    assert answer["Cache-Control"] == "no-store"
    assert "hunter2" not in answer.text
    return body


ERRORS = [
    ("GET", "/nowhere?hunter2", 404, "There is nothing at this address", "not_found"),
    ("GET", "/closed", 403, "You may not see or do this", "not_allowed"),
    ("GET", "/odd", 400, "This request could not be understood", "bad_request"),
    ("GET", "/broken", 500, "Something broke on our side", "internal_error"),
    ("GET", "/without-database", 503, "The service is busy", "unavailable"),
    ("GET", "/hunter2", 400, "This is not one of this service", "host_unknown"),
    ("POST", "/sign-in", 403, "This form could not be trusted", "not_allowed"),
]


def test_an_error_is_a_page_for_browsers_and_json_for_programs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    for method, address, status, heading, code in ERRORS:
        caplog.clear()
        host = {"Host": "hunter2.example" if code == "host_unknown" else "testserver"}
        page = client.generic(method, address, headers={"Accept": "text/html"} | host)
        assert page.status_code == status, address
        assert heading in page.text
        assert "hunter2" not in page.text
        assert "default-src 'none'" in page["Content-Security-Policy"]
        answer = client.generic(method, address, headers={"Accept": "application/json"} | host)
        body = check(answer, status, code, retryable=status >= 500)
        assert settings.SITE_HOST not in body["error"]
        if status == 500:
            assert f"<code>{page['X-Request-ID']}</code>" in page.text
            assert answer["X-Request-ID"] in body["error"]
        if status == 503:
            assert page["Retry-After"] == answer["Retry-After"] == "5"
        if status >= 500:
            assert "hunter2" in caplog.text  # with its traceback
        else:
            assert f"Tacitus {settings.VERSION}" in page.text


@pytest.mark.parametrize("accept", JSON_FIRST + HTML_FIRST)
def test_an_unknown_path_is_json_if_the_client_is_a_program(accept: str) -> None:
    answer = Client().get("/nowhere", headers={"accept": accept} if accept else {})
    if accept in JSON_FIRST:
        check(answer, 404, "not_found")
    else:
        assert answer.status_code == 404
        assert "There is nothing at this address" in answer.text
    # JSON content and a key in the URL are signs of a program; htmx is one of a browser.
    check(Client().post("/nowhere", "{}", content_type="application/json"), 404, "not_found")
    check(Client().get("/nowhere?apiKey=x"), 404, "not_found")
    part = Client().get("/nowhere", headers={"accept": "*/*", "HX-Request": "true"})
    assert (part.status_code, part["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_a_wrong_method_gets_the_allowed_ones() -> None:
    for address, allowed in (
        ("/submit-batch-query", "POST"),
        ("/batch-query-status", "GET, HEAD"),
        ("/api-key", "GET, HEAD"),
    ):
        # CSRF checks do not come first: a program has no token.
        answer = Client(enforce_csrf_checks=True).put(address)
        body = check(answer, 405, "method_not_allowed")
        assert answer["Allow"] == allowed
        assert body["error"] == f"This address does not accept PUT; it accepts {allowed}."
    for address in ("/", "/explorer/batches", "/docs/security"):
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            page = Client(headers={"Accept": "text/html"}).generic(method, address)
            assert (page.status_code, page["Allow"]) == (405, "GET, HEAD")


def test_plain_http_redirects_browsers_and_fails_for_programs(settings: LazySettings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/").status_code == 301
    for request in (Client().post, Client().get):
        answer = request("/submit-batch-query")
        body = check(answer, 403, "https_needed")
        assert settings.SITE_URL in body["error"]
        assert "Location" not in answer
    assert Client().get("/is-alive", secure=True).status_code == 200


def test_cors_allows_any_origin_for_the_api_and_files_but_not_for_pages(
    settings: LazySettings,
) -> None:
    preflight = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "api-key, authorization, content-type, idempotency-key, "
        "if-none-match",
    }
    client = Client(enforce_csrf_checks=True)
    for address in [*urls.API_PATHS, *PUBLIC, "/nowhere", "/submit", "/contracts/nothing"]:
        answer = client.options(address, headers=ORIGIN | preflight)
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer
        assert answer["Access-Control-Allow-Headers"] == preflight["access-control-request-headers"]
        assert answer["Access-Control-Allow-Methods"] == "GET, HEAD, POST, PATCH, DELETE"
        assert "X-Request-ID" in answer
    answer = client.post("/submit", "{}", "application/json", headers=ORIGIN)
    check(answer, 404, "not_found")
    assert answer["Access-Control-Allow-Origin"] == "*"
    for address in ("/docs/how-it-works", "/sign-in", "/docs/faq", "/dashboard", "/docs"):
        for request in (client.get, client.options):
            assert "Access-Control-Allow-Origin" not in request(address, headers=ORIGIN | preflight)
    settings.API_CORS = False
    for address in ("/batch-queries", *PUBLIC, "/nowhere"):
        for request in (client.get, client.options):
            assert "Access-Control-Allow-Origin" not in request(address, headers=ORIGIN | preflight)


def test_public_files_are_revalidated_and_allow_any_origin() -> None:
    for address in PUBLIC:
        first = Client().get(address, headers=ORIGIN)
        assert first.status_code == 200
        again = Client().get(address, headers=ORIGIN | {"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        for answer in (first, again):
            assert answer["Access-Control-Allow-Origin"] == "*"
            assert "ETag" in answer["Access-Control-Expose-Headers"]
            assert answer["Cache-Control"] == "public, no-cache"
            assert "Set-Cookie" not in answer
            assert answer.get("Vary", "Accept-Encoding") == "Accept-Encoding"
        other = Client().get(address, headers={"If-None-Match": '"other"'})
        assert (other.status_code, other.content) == (200, first.content)


@pytest.mark.parametrize(
    ("site", "url"), [("", "http://127.0.0.1:8700"), ("https://proofs.example.org",) * 2]
)
def test_responses_have_the_configured_url_or_in_a_demo_the_requested_one(
    settings: LazySettings, site: str, url: str
) -> None:
    if site:
        settings.SITE_URL, settings.SITE_URL_IS_GUESSED = site, False
    client = Client(headers={"Host": "127.0.0.1:8700", "Accept": "application/json"})
    assert f"({url}/docs/api.md)" in client.get("/llms.txt").text
    assert f"{url}/dashboard/keys shows it." in client.get("/batch-queries").text
    assert f"{url}/docs/api lists all addresses." in client.get("/nowhere").text
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    stranger = client.get("/nowhere", headers={"Host": "evil.example"})
    assert "evil.example" not in stranger.text


TOO_LARGE = (413, "This request is too large", "body_too_large")
FILES_REFUSED = (415, "No form here sends files", "content_type_unsupported")
BODIES = [
    ("text/plain", b"y" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1), TOO_LARGE),
    (FORM, b"x=" + b"%" * (MAX_FORM_BYTES - 1), TOO_LARGE),
    (f"{FORM.upper()}; charset=utf-8", b"x=" + b"%" * (MAX_FORM_BYTES - 1), TOO_LARGE),
    (FORM_WITH_FILES, SLOW_FORM, FILES_REFUSED),
    (f" {FORM_WITH_FILES.upper()}", SLOW_FORM, FILES_REFUSED),
]


def test_bodies_that_no_form_sends_are_not_read() -> None:
    """Only the form of a new batch may be large, and no form sends files."""
    client = Client(enforce_csrf_checks=True)
    for kind, body, (status, heading, code) in BODIES:
        for place in [*FORM_URLS, FORM_URL] if status == 415 else FORM_URLS:
            page = client.post(place, body, content_type=kind, headers={"Accept": "text/html"})
            assert page.status_code == status, (place, kind)
            assert heading in page.text
            assert "Content-Security-Policy" in page
            check(client.post(place, body, content_type=kind), status, code)
