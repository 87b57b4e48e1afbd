"""The addresses of the API."""

from django.urls import URLPattern

from queries.api.endpoints import ENDPOINTS
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits


def addresses(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """The URL patterns of all endpoints, with these routes and batch limits."""
    configured: dict[str, object] = {"routes": routes, "limits": limits, "endpoints": ENDPOINTS}
    return [each.address(configured) for each in ENDPOINTS]
