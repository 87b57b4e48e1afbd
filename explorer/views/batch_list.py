"""Everybody's batches, newest first."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.address_parts import GREATEST
from explorer.list_pages import cursor_of, ways
from explorer.page_links import PageLinks
from queries.reading import batch_list
from queries.reading.batches import is_batch_id

ROWS = 50


@require_safe
@never_cache
def batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    status = request.GET.get("status", "")
    destination = _chain(request.GET.get("to", ""))
    if status not in {"", *batch_list.STATUSES}:
        raise Http404
    cursor = cursor_of(request, lambda text: (text,) if is_batch_id(text) else None)
    shown = batch_list.batches(status=status, destination=destination, cursor=cursor, most=ROWS)
    return render(
        request,
        "batches.html",
        {
            "links": links,
            "shown": shown,
            "ways": ways(request, shown),
            "status": status,
            "statuses": batch_list.STATUSES,
            "destination": destination,
            "destinations": sorted({each for _, each in links.routes.registries}),
            "filtered": bool(status) or destination is not None,
        },
    )


def _chain(text: str) -> int | None:
    """Empty: all of them."""
    if not text:
        return None
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) > GREATEST:
        raise Http404
    return int(text)
