"""A request's id, and its one line in the log."""

import logging
import re
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ulid import ULID

from explorer.logs import request_id

log = logging.getLogger("tacitus.requests")

# A proxy's id is taken over, so that its log and ours can be laid side by side; a stranger's
# is not, because then he would choose what our log says.
PROXY_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestLog:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begin = time.perf_counter()
        token = request_id.set(self._id(request))
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            milliseconds = round((time.perf_counter() - begin) * 1000, 1)
            path = request.get_full_path()
            log.info(
                "%s %s %s in %s ms",
                request.method,
                path,
                response.status_code,
                milliseconds,
                extra={
                    "fields": {
                        "method": request.method,
                        "path": path,
                        "status": response.status_code,
                        "milliseconds": milliseconds,
                    }
                },
            )
            return response
        finally:
            request_id.reset(token)

    def _id(self, request: HttpRequest) -> str:
        given = request.headers.get("X-Request-ID", "")
        if settings.BEHIND_PROXY and PROXY_ID.fullmatch(given):
            return given
        return str(ULID())
