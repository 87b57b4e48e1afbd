"""The API's description, for programs and for people."""

import json

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.key_check import MINUTE
from queries.api.endpoints import ENDPOINTS, by_status, every_refusal
from queries.api.openapi import document, meaning
from queries.api.request_schema import EVERYTHING_EXAMPLE, SPECIFICATION_EXAMPLE
from queries.schema.batch_rules import BatchLimits


@csrf_exempt
@require_safe
def openapi(_request: HttpRequest, limits: BatchLimits) -> HttpResponse:
    return JsonResponse(document(limits), headers={"Cache-Control": "no-cache"})


@require_safe
def api_page(request: HttpRequest, limits: BatchLimits) -> HttpResponse:
    refusals = [(each, meaning(each)) for each in every_refusal()]
    return render(
        request,
        "api.html",
        {
            "endpoints": [(each, by_status(each.refusals)) for each in ENDPOINTS],
            "refusals": refusals,
            "limits": limits,
            "requests": settings.REQUESTS_PER_MINUTE,
            "seconds": MINUTE,
            "site_url": settings.SITE_URL,
            "examples": [
                ("One balance", json.dumps(SPECIFICATION_EXAMPLE, indent=2)),
                ("All that can be asked for", json.dumps(EVERYTHING_EXAMPLE, indent=2)),
            ],
        },
    )
