"""Every address of the service."""

import re

from django.contrib import admin
from django.urls import path

from accounts import urls as accounts
from explorer import views
from explorer.wiring import LIMITS, ROUTES, ask_wallet
from queries.api import urls as api

API = api.addresses(ROUTES, LIMITS)
# Where only programs come: each answer there is JSON.
API_PATHS = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{each.pattern}") for each in API} | {"/api-key"}


def is_of_the_api(address: str) -> bool:
    """With a slash too many as well: nothing is there, and a program is told so."""
    address = address.rstrip("/")
    return address in API_PATHS or any(each.pattern.match(address[1:]) for each in API)


urlpatterns = [
    path("", views.start, name="start"),
    path("dashboard", views.dashboard, name="dashboard"),
    *accounts.addresses(ask_wallet),
    *API,
    *api.pages(LIMITS),
    path("admin/", admin.site.urls),
]

# Django's own show the one page without its frame's values, and the other without the request's id.
handler400 = "explorer.views.bad_request"
handler500 = "explorer.views.fault_of_ours"
