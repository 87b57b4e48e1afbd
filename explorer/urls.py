"""Every address of the service."""

from django.urls import path

from explorer import views

urlpatterns = [
    path("", views.start, name="start"),
]

# Django's own shows the page without its frame's values.
handler400 = "explorer.views.bad_request"
