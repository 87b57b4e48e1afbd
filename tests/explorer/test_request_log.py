"""Every request has an id and one line in the log."""

import logging

import pytest
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pytest_django import Settings

from explorer import urls
from explorer.logs import request_id

pytestmark = pytest.mark.no_database


def test_a_request_is_logged_once_with_its_id(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        response = client.get("/nowhere?%2561piKey%5B%5D=,hidden&x=%0d%0a")
    (line,) = [record for record in caplog.records if record.name == "tacitus.requests"]
    fields = vars(line)["fields"]
    assert (fields["status"], fields["path"]) == (404, "/nowhere?[struck-out]&x=%0d%0a")
    assert "host" not in fields
    assert "hidden" not in line.getMessage()
    assert "\n" not in line.getMessage()
    assert len(response["X-Request-ID"]) == 26


def test_a_request_for_another_host_is_logged_with_it(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.get("/", headers={"Host": "proofs.example\u202e" + 300 * "x"})
    (line,) = [record for record in caplog.records if record.name == "tacitus.requests"]
    assert answer.status_code == 400
    assert vars(line)["fields"]["host"].startswith("proofs.example")
    assert len(vars(line)["fields"]["host"]) == 260
    assert " for host 'proofs.example\\u202exxx" in line.getMessage()


def odd(_request: HttpRequest) -> HttpResponse:
    raise BadRequest


urlpatterns = [*urls.urlpatterns, path("odd", odd)]
handler400 = urls.handler400


@pytest.mark.urls(__name__)
def test_another_bad_request_is_logged_without_its_host(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.get("/odd")
    (line,) = [record for record in caplog.records if record.name == "tacitus.requests"]
    assert answer.status_code == 400
    assert "host" not in vars(line)["fields"]


def test_an_id_ends_with_its_request(client: Client) -> None:
    client.get("/healthz")
    assert request_id.get() == ""


def test_two_requests_have_two_ids(client: Client) -> None:
    assert client.get("/healthz")["X-Request-ID"] != client.get("/healthz")["X-Request-ID"]


def test_a_strangers_id_is_not_taken_over(client: Client) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": "chosen-by-a-stranger"})
    assert answer["X-Request-ID"] != "chosen-by-a-stranger"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("f3c1-from-the-proxy", True),
        ("short", False),
        ("with space in", False),
        ("f3c1-from-the-proxy and more", False),
        (65 * "x", False),
    ],
)
def test_a_proxys_id_is_taken_over(
    client: Client, settings: Settings, given: str, *, taken: bool
) -> None:
    settings.BEHIND_PROXY = True
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert (answer["X-Request-ID"] == given) is taken
