"""The API's description, for programs and for people, and a client of it.

The client is `queries/tacitus.py`: each server has the version that fits it.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from accounts.key_check import MINUTE
from accounts.site_address import site_address
from queries.api.answers import Error, Event
from queries.api.batch_codes import batch_codes
from queries.api.endpoint import Endpoint, by_status, every_refusal
from queries.api.examples import BODIES
from queries.api.openapi import document
from queries.api.webhook_views import SENT_HEADERS, pauses
from queries.schema.batch_checks import BatchLimits
from queries.schema.json_schema import example_of, members_of
from queries.webhooks import MOST_FACTS, WHOLE

CLIENT = (Path(__file__).parent.parent / "tacitus.py").read_bytes()
HEADERS = {
    "ETag": f'"{hashlib.sha256(CLIENT).hexdigest()[:32]}"',
    # Clients cache it and revalidate it each time: an upgraded server has another version.
    "Cache-Control": "public, no-cache",
}


def openapi(
    request: HttpRequest, endpoints: Sequence[Endpoint], limits: BatchLimits
) -> HttpResponse:
    schema = document(endpoints, limits, site_address(request))
    return JsonResponse(schema, headers={"Cache-Control": "no-cache"})


@require_safe
def api_page(
    request: HttpRequest, endpoints: Sequence[Endpoint], limits: BatchLimits
) -> HttpResponse:
    return render(
        request,
        "api.html",
        {
            "endpoints": [
                {
                    "it": each,
                    "refusals": _codes(each),
                    "bodies": _bodies(each),
                    "fields": members_of(each.body, "validation") if each.body else (),
                    "answer": _written(each.example),
                    "answered": members_of(each.answer, "serialization"),
                }
                for each in endpoints
            ],
            "refused": _written(example_of(Error)),
            "refusals": every_refusal(endpoints),
            "batch_codes": batch_codes(),
            "webhook_headers": SENT_HEADERS,
            "most_facts": MOST_FACTS,
            "webhook_pauses": pauses(),
            "webhook_seconds": f"{WHOLE:.0f}",
            "event": _written(example_of(Event)),
            "limits": limits,
            "requests": settings.REQUESTS_PER_MINUTE,
            "seconds": MINUTE,
            "site_url": site_address(request),
        },
    )


def _written(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def _bodies(endpoint: Endpoint) -> list[tuple[str, str]]:
    """What it may be sent, under a title each."""
    examples = BODIES.get(endpoint.body.__name__, {}) if endpoint.body else {}
    return [(title, _written(each)) for title, each in examples.items()]


def _codes(endpoint: Endpoint) -> list[tuple[int, list[str]]]:
    """Those that it may refuse with, by HTTP status."""
    return [
        (status.value, [each.code for each in refusals])
        for status, refusals in by_status(endpoint.refusals).items()
    ]


@require_safe
def client_file(request: HttpRequest) -> HttpResponseBase:
    whole = HttpResponse(CLIENT, content_type="text/x-python; charset=utf-8", headers=HEADERS)
    answer = get_conditional_response(request, etag=HEADERS["ETag"], response=whole) or whole
    if settings.API_CORS:
        answer["Access-Control-Allow-Origin"] = "*"
    return answer
