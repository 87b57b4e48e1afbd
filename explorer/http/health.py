"""`/healthz`: the process answers. `/readyz`: it can do its work.

A middleware and not two views, so that a probe, which comes by address and without TLS,
is answered before hosts are checked and http is redirected.
"""

import logging
from collections.abc import Callable

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse

from accounts.shared.database_state import is_migrated

log = logging.getLogger("tacitus.health")

PROCESS, READINESS = "/healthz", "/readyz"


class HealthChecks:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.migrated = False

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in {PROCESS, READINESS}:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        checks = {} if request.path == PROCESS else {"database": self._database()}
        well = all(state == "ok" for state in checks.values())
        return JsonResponse(
            {"status": "ok" if well else "not ready", "checks": checks},
            status=200 if well else 503,
            headers={"Cache-Control": "no-store"},
        )

    def _database(self) -> str:
        if connection.vendor == "sqlite" and not connection.in_atomic_block:
            connection.close()  # an open file can be read where it is no longer there
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            # Migrations are looked at until they are all there: they do not go away again.
            self.migrated = self.migrated or is_migrated()
        except Error:
            log.exception("The database does not answer.")
            return "unreachable"
        return "ok" if self.migrated else "migrations are missing: run manage.py migrate"
