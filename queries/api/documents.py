"""The API's description, for programs and for people."""

import json

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.key_check import MINUTE
from accounts.site_address import site_address
from queries.api.batch_codes import batch_codes
from queries.api.endpoint import Endpoint
from queries.api.endpoints import ENDPOINTS, by_status, every_refusal
from queries.api.example_answers import EXAMPLE_ANSWERS
from queries.api.openapi import EXAMPLES_OF_BODIES, document
from queries.api.proof_endpoints import PROOF_PARTS
from queries.api.request_fields import request_fields
from queries.api.webhook_description import TOLD, pauses
from queries.schema.batch_rules import BatchLimits
from queries.webhooks import MOST_FACTS, WHOLE


@csrf_exempt
@require_safe
def openapi(request: HttpRequest, limits: BatchLimits) -> HttpResponse:
    return JsonResponse(
        document(limits, site_address(request)), headers={"Cache-Control": "no-cache"}
    )


@require_safe
def api_page(request: HttpRequest, limits: BatchLimits) -> HttpResponse:
    return render(
        request,
        "api.html",
        {
            "endpoints": [
                (each, _codes(each), _bodies(each), _written(EXAMPLE_ANSWERS.get(each.answer)))
                for each in ENDPOINTS
            ],
            "refused": _written(EXAMPLE_ANSWERS["Error"]),
            "refusals": every_refusal(),
            "batch_codes": batch_codes(),
            "proof_parts": PROOF_PARTS,
            "webhook_headers": TOLD,
            "most_facts": MOST_FACTS,
            "webhook_pauses": pauses(),
            "webhook_seconds": f"{WHOLE:.0f}",
            "event": _written(EXAMPLE_ANSWERS["Event"]),
            "fields": request_fields(limits),
            "limits": limits,
            "requests": settings.REQUESTS_PER_MINUTE,
            "seconds": MINUTE,
            "site_url": site_address(request),
        },
    )


def _written(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) if content else ""


def _bodies(endpoint: Endpoint) -> list[tuple[str, str]]:
    """What it may be sent, under a title each."""
    examples = EXAMPLES_OF_BODIES.get(endpoint.body, {})
    return [(each["summary"].rstrip("."), _written(each["value"])) for each in examples.values()]


def _codes(endpoint: Endpoint) -> list[tuple[int, list[str]]]:
    """Those that it may refuse with, by HTTP status."""
    return [
        (status.value, [each.code for each in refusals])
        for status, refusals in by_status(endpoint.refusals).items()
    ]
