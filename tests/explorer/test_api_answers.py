"""Programs get JSON in one shape whatever answers them, and browsers of any origin may read it."""

from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.db import InterfaceError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from explorer import urls
from tests.queries.api import served_api

SHAPE = ["error", "code", "path", "retryable"]
ORIGIN = {"origin": "https://dapp.example"}


def without_database(_request: HttpRequest) -> HttpResponse:
    raise InterfaceError("hunter2")


urlpatterns = [*served_api.urlpatterns, path("without-database", without_database)]
handler400, handler500 = urls.handler400, urls.handler500
pytestmark = [pytest.mark.no_database, pytest.mark.urls(__name__)]


def check(answer: Any, status: int, code: str, *, retryable: bool = False) -> Any:
    told = answer.json()
    assert (answer.status_code, told["code"], told["retryable"]) == (status, code, retryable)
    assert list(told) == SHAPE
    assert answer["Cache-Control"] == "no-store"
    assert "hunter2" not in answer.text
    return told


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


JSON_FIRST = ["application/json", "application/json;q=.9,*/*;q=.1", "*/*", ""]
HTML_FIRST = ["text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"]


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


@pytest.mark.parametrize("address", ["/broken", "/without-database"])
def test_a_fault_is_reported_with_the_requests_id(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(raise_request_exception=False)
    answer = client.get(address, headers={"accept": "application/json"})
    if address == "/broken":
        told = check(answer, 500, "fault_of_ours", retryable=True)
        assert answer["X-Request-ID"] in told["error"]
    else:
        check(answer, 503, "unavailable", retryable=True)
        assert answer["Retry-After"] == "5"
    assert "hunter2" in caplog.text  # with its trace
    page = client.get(address, headers={"accept": "text/html"})
    if address == "/broken":
        assert page.status_code == 500
        assert "Something broke on our side" in page.text
    else:
        assert (page.status_code, page["Retry-After"]) == (503, "5")
        assert "The service is busy" in page.text
    assert "hunter2" not in page.text


def test_under_another_host_people_get_a_page_and_programs_the_shape() -> None:
    host = {"Host": "hunter2.example"}
    page = Client().get("/", headers=host | {"Accept": "text/html"})
    assert page.status_code == 400
    assert "This is not one of this service" in page.text
    for address in ("/batch-query-status", "/nowhere?apiKey=x"):
        told = check(Client().get(address, headers=host), 400, "host_unknown")
        assert settings.SITE_HOST not in told["error"]


def test_plain_http_is_refused_to_programs_and_sends_people_on(settings: LazySettings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/").status_code == 301
    for ask in (Client().post, Client().get):
        answer = ask("/submit-batch-query")
        told = check(answer, 403, "https_needed")
        assert settings.SITE_URL in told["error"]
        assert "Location" not in answer
    answer = Client().get("/openapi.json", secure=True)
    assert answer.status_code == 200


@pytest.mark.parametrize("address", sorted(urls.API_PATHS))
def test_a_browser_asks_first_from_any_origin(address: str) -> None:
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "api-key, authorization, content-type, idempotency-key",
    }
    answer = Client(enforce_csrf_checks=True).options(address, headers=ORIGIN | asked)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer
    assert answer["Access-Control-Allow-Headers"] == asked["access-control-request-headers"]
    assert answer["Access-Control-Allow-Methods"] == "GET, HEAD, POST"
    assert "X-Request-ID" in answer


@pytest.mark.parametrize("address", ["/docs/how-it-works", "/sign-in", "/docs/faq"])
def test_pages_are_for_their_own_origin(address: str) -> None:
    asked = {"access-control-request-method": "GET"}
    for answer in (
        Client().get(address, headers=ORIGIN),
        Client().options(address, headers=ORIGIN | asked),
    ):
        assert "Access-Control-Allow-Origin" not in answer


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
    assert client.get("/openapi.json").json()["servers"] == [{"url": named}]
    assert f"{named}/dashboard shows it." in client.get("/batch-queries").text
    assert f"{named}/docs/api lists what there is." in client.get("/nowhere").text
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    stranger = client.get("/nowhere", headers={"Host": "evil.example"})
    assert "evil.example" not in stranger.text
