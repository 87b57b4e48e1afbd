"""Refuses what is too large to be read by its length alone, and what did not come in time.

Django bounds what it keeps in memory of a form, and writes the files in one to the disk, whole,
before it finds that the form is not to be trusted. No form here has a file.
"""

from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from explorer.urls import is_of_the_api
from explorer.wsgi_call import BODY_CAME_LATE


class RequestBodies:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if BODY_CAME_LATE in request.META:
            return render(request, "408.html", status=HTTPStatus.REQUEST_TIMEOUT)
        length = request.headers.get("Content-Length", "")
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        # The API has bounds of its own, and says which; where it takes no body, it reads none.
        if is_of_the_api(request.path) or not length.isdecimal() or int(length) <= most:
            return self.get_response(request)
        return render(request, "413.html", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
