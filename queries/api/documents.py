"""The API's description for programs, and a client of it.

The client is `queries/tacitus.py`: each server has the version that fits it.
"""

from collections.abc import Sequence
from pathlib import Path

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from accounts.site_address import site_address
from queries.api.endpoint import Endpoint
from queries.api.openapi import document
from queries.schema.batch_checks import BatchLimits

CLIENT = (Path(__file__).parent.parent / "tacitus.py").read_bytes()


def openapi(
    request: HttpRequest, endpoints: Sequence[Endpoint], limits: BatchLimits
) -> HttpResponse:
    schema = document(endpoints, limits, site_address(request))
    return JsonResponse(schema, headers={"Cache-Control": "no-cache"})


@require_safe
def client_file(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(CLIENT, content_type="text/x-python; charset=utf-8")
