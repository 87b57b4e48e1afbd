"""The API's description for programs."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.site_address import site_address
from queries.api.endpoint import Endpoint
from queries.api.examples import fill_in, route_example
from queries.api.openapi import document
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits


def openapi(
    request: HttpRequest, endpoints: Sequence[Endpoint], routes: Routes, limits: BatchLimits
) -> HttpResponse:
    schema = document(endpoints, limits, site_address(request))
    filled = fill_in(schema, route_example(routes))
    return JsonResponse(filled, headers={"Cache-Control": "no-cache"})
