"""Every address of the service."""

from django.contrib import admin
from django.urls import path

from accounts.urls import addresses
from explorer import views
from explorer.wiring import ask_wallet

urlpatterns = [
    path("", views.start, name="start"),
    path("dashboard", views.dashboard, name="dashboard"),
    *addresses(ask_wallet),
    path("admin/", admin.site.urls),
]

# Django's own show the one page without its frame's values, and the other without the request's id.
handler400 = "explorer.views.bad_request"
handler500 = "explorer.views.fault_of_ours"
