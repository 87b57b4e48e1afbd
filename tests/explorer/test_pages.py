"""Pages that refuse: a fault, a form of elsewhere, another host, what may not be seen."""

import pytest
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from explorer import urls

pytestmark = [pytest.mark.no_database, pytest.mark.urls(__name__)]


def closed(_request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("hunter2")


def odd(_request: HttpRequest) -> HttpResponse:
    raise BadRequest("hunter2")


def broken(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("hunter2")


# With a page that not everyone may see, one that few ask for rightly, and a fault.
urlpatterns = [*urls.urlpatterns, path("closed", closed), path("odd", odd), path("broken", broken)]
handler400, handler500 = urls.handler400, urls.handler500


@pytest.mark.parametrize(
    ("method", "address", "host", "status", "said"),
    [
        ("GET", "/nowhere?hunter2", "testserver", 404, "There is nothing at this address"),
        ("GET", "/closed", "testserver", 403, "You may not see or do this"),
        ("GET", "/odd", "testserver", 400, "This request could not be understood"),
        ("GET", "/broken", "testserver", 500, "Something broke on our side"),
        ("GET", "/hunter2", "hunter2.example", 400, "This is not one of this service"),
        ("POST", "/sign-in", "testserver", 403, "This form could not be trusted"),
    ],
)
def test_a_refusal_is_a_page_of_ours_and_repeats_nothing(
    method: str, address: str, host: str, status: int, said: str
) -> None:
    client = Client(
        enforce_csrf_checks=True,
        raise_request_exception=False,
        headers={"Accept": "text/html", "Host": host},
    )
    answer = client.generic(method, address)
    assert answer.status_code == status
    assert said in answer.text
    assert "hunter2" not in answer.text
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    if status == 500:
        assert f"<code>{answer['X-Request-ID']}</code>" in answer.text
    else:
        assert f"Tacitus {settings.VERSION}" in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("address", ["/", "/explorer/batches", "/docs/security"])
def test_a_page_is_only_read(address: str, method: str) -> None:
    answer = Client(headers={"Accept": "text/html"}).generic(method, address)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
