"""The start page, and how it works."""

from datetime import UTC

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

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
