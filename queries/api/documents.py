"""The API's description for programs, and a client of it.

The client is `queries/tacitus.py`: each server has the version that fits it.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from accounts.site_address import site_address
from queries.api.endpoint import Endpoint
from queries.api.openapi import document
from queries.schema.batch_checks import BatchLimits

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
def client_file(request: HttpRequest) -> HttpResponseBase:
    whole = HttpResponse(CLIENT, content_type="text/x-python; charset=utf-8", headers=HEADERS)
    answer = get_conditional_response(request, etag=HEADERS["ETag"], response=whole) or whole
    if settings.API_CORS:
        answer["Access-Control-Allow-Origin"] = "*"
    return answer
