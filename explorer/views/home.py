"""The start page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return render(request, "start.html")
