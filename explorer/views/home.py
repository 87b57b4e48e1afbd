"""The start page, and what an account has of its own."""

from dataclasses import fields

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts import reading as accounts
from accounts.sessions import account_of


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return render(request, "start.html")


@require_safe
@never_cache
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    held = accounts.dashboard(account_of(request), request.session.session_key)
    context = {field.name: getattr(held, field.name) for field in fields(held)}
    return render(
        request,
        "dashboard.html",
        {
            **context,
            # For the call that is ready to be copied: the first that can be shown.
            "shown_key": next((each.key for each in held.keys if each.key), None),
            "limit": settings.REQUESTS_PER_MINUTE,
            "site_url": f"{request.scheme}://{request.get_host()}",
        },
    )
