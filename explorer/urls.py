"""Every address of the service."""

import re

from django.contrib import admin
from django.urls import URLPattern, path

from accounts import urls as accounts
from explorer.page_links import PageLinks
from explorer.views import batches, home
from explorer.wiring import LIMITS, ROUTES, ask_wallet
from queries.api import urls as api
from queries.routes import Routes

API = api.addresses(ROUTES, LIMITS)
# Where only programs come: each answer there is JSON.
API_PATHS = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{each.pattern}") for each in API} | {"/api-key"}


def is_of_the_api(address: str) -> bool:
    """With a slash too many as well: nothing is there, and a program is told so."""
    address = address.rstrip("/")
    return address in API_PATHS or any(each.pattern.match(address[1:]) for each in API)


def explorer(routes: Routes) -> list[URLPattern]:
    """The pages that show what the service does."""
    links = {"links": PageLinks(routes)}
    return [
        path("", home.start, links, name="start"),
        path("explorer/newest", home.newest_changes, links, name="newest"),
        path("explorer/query/<str:batch_id>", batches.batch, links, name="batch"),
        path(
            "explorer/query/<str:batch_id>/changes",
            batches.batch_changes,
            links,
            name="batch-changes",
        ),
        path("explorer/query/<str:batch_id>/block", batches.batch_block, links, name="batch-block"),
    ]


urlpatterns = [
    path("how-it-works", home.how_it_works, name="how-it-works"),
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
