"""A request's id, and its one line in the log."""

import logging
import re
import time
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from ulid import ULID

from explorer.key_strikeout import strike_out_parameters
from explorer.logs import request_id

log = logging.getLogger("tacitus.requests")

# A proxy's id is taken over, so that its log and ours can be laid side by side; a stranger's
# is not, because then he would choose what our log says.
PROXY_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
LONGEST_HOST = 260  # a name of 253 characters and a port


class RequestLog:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begin = time.perf_counter()
        token = request_id.set(self._id(request))
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            _log(request, response, time.perf_counter() - begin)
            return response
        finally:
            request_id.reset(token)

    def _id(self, request: HttpRequest) -> str:
        given = request.headers.get("X-Request-ID", "")
        if settings.BEHIND_PROXY and PROXY_ID.fullmatch(given):
            return given
        return str(ULID())


def _log(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    fields: dict[str, object] = {
        "method": request.method,
        "path": strike_out_parameters(request.get_full_path()),
        "status": response.status_code,
        "milliseconds": round(seconds * 1000, 1),
    }
    message = "%(method)s %(path)s %(status)s in %(milliseconds)s ms"
    if response.status_code == HTTPStatus.BAD_REQUEST and _names_another_host(request):
        # A SITE_URL that is not the address people use shows here, and only here.
        fields["host"] = request.META.get("HTTP_HOST", "")[:LONGEST_HOST]
        message += " for host %(host)a"
    log.info(message, fields, extra={"fields": fields})


def _names_another_host(request: HttpRequest) -> bool:
    try:
        request.get_host()
    except DisallowedHost:
        return True
    return False
