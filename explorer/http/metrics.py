"""`/metrics` in Prometheus's text format, for requests with METRICS_TOKEN."""

import logging
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare

from accounts.shared.errors import CommonCode, PageCode, RefusalError, error_response
from explorer.wiring import ROUTES
from queries.reading.metrics import Metric, Sample, metrics

log = logging.getLogger("tacitus.metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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


PATH = "/metrics"
# Headers that a proxy sets. A request through a proxy on this machine may come from anywhere.
PROXY_HEADERS = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class Metrics:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path != PATH:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        try:
            _check_access(request)
            budgets = {
                chain.id: chain.daily_budget
                for chain in ROUTES.chains.values()
                if chain.daily_budget is not None
            }
            service_metrics = metrics(sorted(ROUTES.chains), budgets)
        except RefusalError as refusal:
            return error_response(refusal)
        except Error:
            log.exception("The database does not answer.")
            return error_response(
                RefusalError(CommonCode.UNAVAILABLE, "The database does not answer.")
            )
        version = Sample(1, {"version": settings.VERSION})
        info = Metric("info", "gauge", "The running version.", (version,))
        lines = (line for metric in (info, *service_metrics) for line in _exposition_lines(metric))
        return HttpResponse(
            "".join(f"{line}\n" for line in lines),
            content_type=CONTENT_TYPE,
            headers={"Cache-Control": "no-store"},
        )


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
