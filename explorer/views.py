"""The pages."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return render(request, "start.html")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    return render(request, "400.html", status=400)


def untrusted_form(request: HttpRequest, reason: str) -> HttpResponse:  # noqa: ARG001
    return render(request, "403_csrf.html", status=403)
