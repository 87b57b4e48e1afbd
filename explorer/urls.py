"""Every address of the service."""

from django.urls import path

from explorer import views

urlpatterns = [
    path("", views.start, name="start"),
]

# Django's own show the one page without its frame's values, and the other without the request's id.
handler400 = "explorer.views.bad_request"
handler500 = "explorer.views.fault_of_ours"
