"""Answers for monitoring: `/healthz`, `/readyz` and `/metrics`.

Middleware that runs before the host check and the https redirect, because probes use an IP address
and plain HTTP.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.utils.crypto import constant_time_compare

from accounts.database_state import describe_outage, schema_fault
from accounts.http.errors import CommonCode, PageCode, RefusalError, error_response
from explorer.wiring import ROUTES
from queries.reading import Metric, Sample, read_metrics

log = logging.getLogger("tacitus.probes")

METHODS = ["GET", "HEAD"]
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Headers that a proxy sets. A request through a proxy on this machine may come from anywhere.
PROXY_HEADERS = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class Probes:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.has_schema = False
        self.answers: Mapping[str, Callable[[HttpRequest], HttpResponse]] = {
            "/healthz": lambda _: _health({}),
            "/readyz": lambda _: _health({"database": self._database()}),
            "/metrics": _metrics,
        }

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.answers.get(request.path)
        if answer is None:
            return self.get_response(request)
        if request.method not in METHODS:
            return HttpResponseNotAllowed(METHODS)
        response = answer(request)
        response["Cache-Control"] = "no-store"
        return response

    def _database(self) -> str:
        if connection.vendor == "sqlite" and not connection.in_atomic_block:
            connection.close()  # a file that was deleted can still be read while it is open
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            # Once the tables are as they should be, they are not checked again.
            fault = "" if self.has_schema else schema_fault()
        except Error as error:
            log.error(describe_outage(error))  # noqa: TRY400
            return "unreachable"
        self.has_schema = not fault
        return fault or "ok"


def _health(checks: Mapping[str, str]) -> HttpResponse:
    is_ready = all(state == "ok" for state in checks.values())
    content = {"status": "ok" if is_ready else "not ready", "checks": checks}
    return JsonResponse(content, status=200 if is_ready else 503)


def _metrics(request: HttpRequest) -> HttpResponse:
    """The metrics in Prometheus's text format."""
    budgets = {
        chain.id: chain.daily_budget
        for chain in ROUTES.chains.values()
        if chain.daily_budget is not None
    }
    try:
        _check_access(request)
        service_metrics = read_metrics(sorted(ROUTES.chains), ROUTES.registries.values(), budgets)
    except RefusalError as refusal:
        return error_response(refusal)
    except Error as error:
        log.error(describe_outage(error))  # noqa: TRY400
        return error_response(RefusalError(CommonCode.UNAVAILABLE, "The database does not answer."))
    version = Sample(1, {"version": settings.VERSION})
    info = Metric("info", "gauge", "The running version.", (version,))
    lines = (line for metric in (info, *service_metrics) for line in _exposition_lines(metric))
    return HttpResponse("".join(f"{line}\n" for line in lines), content_type=METRICS_TYPE)


def _exposition_lines(metric: Metric) -> Iterator[str]:
    name = f"tacitus_{metric.name}"
    yield f"# HELP {name} {metric.description}"
    yield f"# TYPE {name} {metric.kind}"
    for sample in metric.samples:
        if sample.value is not None:
            pairs = (f'{label}="{_escape_label(value)}"' for label, value in sample.labels.items())
            labels = f"{{{','.join(pairs)}}}" if sample.labels else ""
            # Adding 0 turns a bool into 1 or 0.
            yield f"{name}{sample.suffix}{labels} {sample.value + 0}"


def _escape_label(value: object) -> str:
    return str(value).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _check_access(request: HttpRequest) -> None:
    if not settings.METRICS_TOKEN:
        if settings.BEHIND_PROXY or not is_from_this_machine(request):
            raise RefusalError(
                PageCode.NOT_ALLOWED,
                "Without METRICS_TOKEN, the metrics cannot be read behind a proxy or from another "
                "machine. The operator sets it.",
            )
        return
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    has_token = constant_time_compare(token.strip(), settings.METRICS_TOKEN)
    if scheme.lower() != "bearer" or not has_token:
        raise RefusalError(
            PageCode.NOT_ALLOWED,
            "The metrics need `Authorization: Bearer` and the operator's token.",
        )


def is_from_this_machine(request: HttpRequest) -> bool:
    """Check the client's IP address, and Host, which differs for other sites' pages."""
    if any(name.startswith(PROXY_HEADERS) for name in request.META):
        return False
    try:
        host = urlsplit(f"//{request.META.get('HTTP_HOST', '')}").hostname or ""
    except ValueError:
        return False
    client = str(request.META.get("REMOTE_ADDR", ""))
    return _is_loopback(client) and (host == "localhost" or _is_loopback(host))


def _is_loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
