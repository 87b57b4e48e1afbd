"""Refuses what is too large or would take too long to be read, and what did not come in time.

To see whether a form is to be trusted Django reads all of it first, whoever sent it; and it writes
the files in one to the disk, whole. No form here has a file.
"""

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from explorer.form_bounds import FORM, LARGEST_FORM, MOST_ENCODED, is_of_a_batch, refused_unread
from explorer.urls import is_of_the_api
from explorer.views.refusals import too_much_for_a_batch
from explorer.wiring import LIMITS
from explorer.wsgi_call import BODY_CAME_LATE


class RequestBodies:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if BODY_CAME_LATE in request.META:
            return render(request, "408.html", status=HTTPStatus.REQUEST_TIMEOUT)
        # The API has bounds of its own, and says which; where it takes no body, it reads none.
        if is_of_the_api(request.path):
            return self.get_response(request)
        return _refusal(request) or self.get_response(request)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    kind = request.content_type or ""
    match refused_unread(request.path, kind, _length(request)):
        case HTTPStatus.UNSUPPORTED_MEDIA_TYPE as status:
            return render(request, "415.html", status=status)
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return _too_large(request)
    of_a_batch = kind == FORM and is_of_a_batch(request.path)
    return None if not of_a_batch or _is_soon_read(request.body) else _too_large(request)


def _length(request: HttpRequest) -> int:
    """As Django takes it, which reads no more than that."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _is_soon_read(form: bytes) -> bool:
    """Browsers encode whatever is not ASCII; what is not encoded is looked at piecewise, too."""
    return len(form) <= LARGEST_FORM or (form.isascii() and form.count(b"%") <= MOST_ENCODED)


def _too_large(request: HttpRequest) -> HttpResponse:
    if is_of_a_batch(request.path):
        return too_much_for_a_batch(request, LIMITS)
    return render(request, "413.html", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
