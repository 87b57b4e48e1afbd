"""`/metrics`, in Prometheus's text format, for requests that carry METRICS_TOKEN."""

import logging
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare

from accounts.shared import errors as http
from accounts.shared.errors import Refusal, answer_of
from explorer.wiring import ROUTES
from queries.reading.metrics import Metric, Sample, metrics

log = logging.getLogger("tacitus.metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def _lines(metric: Metric) -> Iterator[str]:
    name = f"tacitus_{metric.name}"
    yield f"# HELP {name} {metric.says}"
    yield f"# TYPE {name} {metric.kind}"
    for each in metric.samples:
        if each.value is not None:
            labels = ",".join(f'{label}="{_quoted(of)}"' for label, of in each.labels.items())
            in_braces = f"{{{labels}}}" if labels else ""
            # A truth value is 1 or 0.
            yield f"{name}{each.suffix}{in_braces} {each.value + 0}"


def _quoted(value: object) -> str:
    return str(value).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


PATH = "/metrics"
# What a proxy sets. A request through a proxy on this machine may come from anywhere.
FORWARDED = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class Metrics:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path != PATH:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        if refusal := _refusal(request):
            return answer_of(refusal)
        chains = ROUTES.chains.values()
        most_a_day = {each.id: each.most_a_day for each in chains if each.most_a_day is not None}
        try:
            seen = metrics(sorted(ROUTES.chains), most_a_day)
        except Error:
            log.exception("The database does not answer.")
            return answer_of(Refusal(http.UNAVAILABLE, "The database does not answer."))
        version = Sample(1, {"version": settings.VERSION})
        info = Metric("info", "gauge", "The version that answers.", (version,))
        content = "".join(f"{line}\n" for each in (info, *seen) for line in _lines(each))
        return HttpResponse(
            content, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"}
        )


def _refusal(request: HttpRequest) -> Refusal | None:
    if not settings.METRICS_TOKEN:
        if not settings.BEHIND_PROXY and comes_from_this_machine(request):
            return None
        return Refusal(
            http.NOT_ALLOWED,
            "Without METRICS_TOKEN, the metrics cannot be read behind a proxy or from another "
            "machine. The operator sets it.",
        )
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return None
    return Refusal(
        http.NOT_ALLOWED, "The metrics take `Authorization: Bearer` and the operator's token."
    )


def comes_from_this_machine(request: HttpRequest) -> bool:
    """By the client's IP address, and by Host: a page of another site sends another one."""
    if any(name.startswith(FORWARDED) for name in request.META):
        return False
    try:
        host = urlsplit(f"//{request.META.get('HTTP_HOST', '')}").hostname or ""
    except ValueError:
        return False
    asks = str(request.META.get("REMOTE_ADDR", ""))
    return _is_loopback(asks) and (host == "localhost" or _is_loopback(host))


def _is_loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
