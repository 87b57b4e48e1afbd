"""The start page, how it works, and what an account has of its own."""

from dataclasses import fields
from datetime import UTC

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts import reading as accounts
from accounts.sessions import account_of
from explorer.page_links import PageLinks
from explorer.proven_charts import charts_of
from explorer.start_page import newest
from queries.reading.figures import figures


@require_safe
@never_cache
def start(request: HttpRequest, links: PageLinks) -> HttpResponse:
    now = timezone.now()
    shown = figures(now.astimezone(UTC).date())
    context = {
        "links": links,
        "newest": newest(now),
        "figures": shown,
        "charts": () if shown.empty else charts_of(shown),
    }
    return render(request, "start.html", context)


@require_safe
@never_cache
def newest_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The newest batches again, or nothing where they are as they were `seen`."""
    shown = newest(timezone.now())
    if request.GET.get("seen") == shown.mark:
        return HttpResponse(status=204)
    return render(request, "parts/newest.html", {"newest": shown, "links": links})


@require_safe
def how_it_works(request: HttpRequest) -> HttpResponse:
    return render(request, "how_it_works.html")


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
