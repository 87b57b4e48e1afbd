"""`/metrics`, for who watches the service and for nobody else.

A middleware as the health checks are: Prometheus comes by address and without TLS.
"""

import logging
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare

from accounts import errors as http
from accounts.errors import Refusal, answer_of
from explorer.monitoring.exposition import CONTENT_TYPE, exposition
from explorer.monitoring.measures import metrics
from explorer.wiring import ROUTES
from queries.reading.operations import operations

log = logging.getLogger("tacitus.metrics")

PATH = "/metrics"
# What a proxy sets. Whoever comes through one on this machine is from anywhere.
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
        try:
            seen = operations(sorted(ROUTES.chains), _most_a_day())
        except Error:
            log.exception("The database does not answer.")
            return answer_of(Refusal(http.UNAVAILABLE, "The database does not answer."))
        content = exposition(metrics(seen, settings.VERSION))
        return HttpResponse(
            content, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"}
        )


def _most_a_day() -> Mapping[int, int]:
    """Where a chain has such a bound."""
    bounds = {key: chain.most_a_day for key, chain in ROUTES.chains.items()}
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _refusal(request: HttpRequest) -> Refusal | None:
    if not settings.METRICS_TOKEN:
        if _comes_from_this_machine(request):
            return None
        return Refusal(
            http.NOT_ALLOWED,
            "This machine alone may read the metrics, and not through a proxy. From elsewhere it "
            "takes the operator's METRICS_TOKEN.",
        )
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return None
    return Refusal(
        http.NOT_ALLOWED, "The metrics take `Authorization: Bearer` and the operator's token."
    )


def _comes_from_this_machine(request: HttpRequest) -> bool:
    """By its own address and name: a page that a browser here shows has another name."""
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
