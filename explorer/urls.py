"""Every address of the service."""

from django.urls import path

from explorer import views

urlpatterns = [
    path("", views.start, name="start"),
]
