"""What a page tells once after a form, and the cookie that keeps it until then."""

import pytest
from django.conf import LazySettings
from django.contrib import messages
from django.contrib.messages.storage import default_storage
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

pytestmark = pytest.mark.no_database


def _request(cookie: str = "") -> HttpRequest:
    headers = {"Cookie": f"__Host-messages={cookie}"} if cookie else {}
    request = RequestFactory().get("/", headers=headers)
    request.session = {}  # type: ignore[assignment]
    return request


def test_it_is_as_safe_as_the_sessions_and_goes_when_it_was_told(settings: LazySettings) -> None:
    settings.MESSAGE_COOKIE_NAME, settings.SESSION_COOKIE_SECURE = "__Host-messages", True
    kept = default_storage(_request())
    kept.add(messages.SUCCESS, "It is done.")
    answer = HttpResponse()
    kept.update(answer)
    (cookie,) = answer.cookies.values()
    assert (cookie.key, cookie["secure"], cookie["httponly"]) == ("__Host-messages", True, True)
    assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", "")

    told = default_storage(_request(cookie.value))
    assert [str(each) for each in told] == ["It is done."]
    answer = HttpResponse()
    told.update(answer)
    (cookie,) = answer.cookies.values()
    # Browsers refuse one of this name without Secure, and would tell it again.
    assert (cookie.key, cookie["secure"], cookie["max-age"]) == ("__Host-messages", True, 0)
