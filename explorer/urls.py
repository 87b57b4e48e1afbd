"""Every address of the service."""

import re

from django.contrib import admin
from django.urls import URLPattern, path, register_converter
from django.urls.converters import IntConverter

from accounts import urls as accounts
from explorer.page_links import PageLinks
from explorer.views import batches, facts, home, queries
from explorer.wiring import LIMITS, ROUTES, ask_registry, ask_wallet
from queries.api import urls as api
from queries.routes import Routes

API = api.addresses(ROUTES, LIMITS)
# Where only programs come: each answer there is JSON.
API_PATHS = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{each.pattern}") for each in API} | {"/api-key"}


def is_of_the_api(address: str) -> bool:
    """With a slash too many as well: nothing is there, and a program is told so."""
    address = address.rstrip("/")
    return address in API_PATHS or any(each.pattern.match(address[1:]) for each in API)


class Place(IntConverter):
    """Of a query in its batch; no longer than a column holds."""

    regex = "[0-9]{1,9}"


register_converter(Place, "place")


def explorer(routes: Routes) -> list[URLPattern]:
    """The pages that show what the service does."""
    links: dict[str, object] = {"links": PageLinks(routes)}
    return [
        path("explorer/query/<str:batch_id>", batches.batch, links, name="batch"),
        path(
            "explorer/query/<str:batch_id>/changes",
            batches.batch_changes,
            links,
            name="batch-changes",
        ),
        path("explorer/query/<str:batch_id>/block", batches.batch_block, links, name="batch-block"),
        path(
            "explorer/query/<str:batch_id>/facts.csv",
            facts.batch_facts,
            links | {"form": "csv"},
            name="batch-facts-csv",
        ),
        path(
            "explorer/query/<str:batch_id>/facts.json",
            facts.batch_facts,
            links | {"form": "json"},
            name="batch-facts-json",
        ),
        path("explorer/query/<str:batch_id>/<place:place>", queries.query, links, name="query"),
        path(
            "explorer/query/<str:batch_id>/<place:place>/<str:name>",
            facts.fact,
            links,
            name="fact",
        ),
        path(
            "explorer/query/<str:batch_id>/<place:place>/<str:name>/check",
            facts.check,
            links | {"ask": ask_registry(routes)},
            name="fact-check",
        ),
    ]


urlpatterns = [
    path("", home.start, name="start"),
    path("dashboard", home.dashboard, name="dashboard"),
    *explorer(ROUTES),
    *accounts.addresses(ask_wallet),
    *API,
    *api.pages(LIMITS),
    path("admin/", admin.site.urls),
]

# Django's own show the one page without its frame's values, and the other without the request's id.
handler400 = "explorer.views.refusals.bad_request"
handler500 = "explorer.views.refusals.fault_of_ours"
