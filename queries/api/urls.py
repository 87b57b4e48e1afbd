"""The addresses of the API."""

from django.urls import URLPattern, path

from queries.api import documents
from queries.api.endpoints import ENDPOINTS
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits


def addresses(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """The URL patterns of all endpoints, with these routes and batch limits."""
    configured: dict[str, object] = {"routes": routes, "limits": limits, "endpoints": ENDPOINTS}
    return [each.address(configured) for each in ENDPOINTS]


def pages(limits: BatchLimits) -> list[URLPattern]:
    """For people: what the API takes and answers, and a client of it."""
    shown: dict[str, object] = {"limits": limits, "endpoints": ENDPOINTS}
    return [
        path("docs/api", documents.api_page, shown, name="api-docs"),
        path("tacitus.py", documents.client_file, name="client"),
    ]
