"""Refuses a body by its length and kind, before Django reads it.

Django's CSRF check reads the whole form of any sender, and stores its files on disk without a
limit. No form here has a file.
"""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from explorer.urls import is_of_the_api
from explorer.views.refusals import too_much_for_a_batch
from explorer.wiring import LIMITS

FORM, FORM_WITH_FILES = "application/x-www-form-urlencoded", "multipart/form-data"
LARGEST_FORM = 20_000  # bytes, of any but that of a new batch


class RequestBodies:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # The API has its own limits, and its refusals name them.
        if is_of_the_api(request.path):
            return self.get_response(request)
        return _refusal(request) or self.get_response(request)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    if request.content_type == FORM_WITH_FILES:
        return render(request, "415.html", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    of_a_batch = request.path in {reverse("new-batch"), reverse("check-new-batch")}
    is_small_form = request.content_type == FORM and not of_a_batch
    most = LARGEST_FORM if is_small_form else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if _length(request) <= most:
        return None
    if of_a_batch:
        return too_much_for_a_batch(request, LIMITS)
    return render(request, "413.html", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _length(request: HttpRequest) -> int:
    """As Django takes it, which reads no more than that."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0
