"""Every address of the service."""

from django.contrib import admin
from django.urls import path

from accounts import urls as accounts
from explorer import views
from explorer.wiring import LIMITS, ROUTES, ask_wallet
from queries.api import urls as api

API = api.addresses(ROUTES, LIMITS)
# Where only programs come: each answer there is JSON.
API_PATHS = {f"/{each.pattern}" for each in API} | {"/api-key"}

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
