"""`/healthz`: the process responds. `/readyz`: it can do its work.

A middleware, because probes come by IP address, before the host check, and without TLS.
"""

import logging
from collections.abc import Callable

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse

from accounts.shared.database_state import is_migrated

log = logging.getLogger("tacitus.health")

LIVENESS, READINESS = "/healthz", "/readyz"


class HealthChecks:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.migrated = False

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path not in {LIVENESS, READINESS}:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        checks = {} if request.path == LIVENESS else {"database": self._database()}
        is_ready = all(state == "ok" for state in checks.values())
        return JsonResponse(
            {"status": "ok" if is_ready else "not ready", "checks": checks},
            status=200 if is_ready else 503,
            headers={"Cache-Control": "no-store"},
        )

    def _database(self) -> str:
        if connection.vendor == "sqlite" and not connection.in_atomic_block:
            connection.close()  # a file that was deleted can still be read while it is open
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            # Once all migrations are applied, they are not checked again.
            self.migrated = self.migrated or is_migrated()
        except Error:
            log.exception("The database does not answer.")
            return "unreachable"
        return "ok" if self.migrated else "migrations are missing: run manage.py migrate"
