"""The page of a batch, and what it asks for while something moves."""

import re
from itertools import zip_longest

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.sessions import account_of
from explorer.batch_page import BatchParts, parts_of
from explorer.page_links import PageLinks
from queries.reading.batches import is_own

HTMX_STOPS = 286  # its status for an answer that is the last one
OPENED = re.compile(r"(\d{1,20}-t?\d{1,20})(?::(\d{1,9}))?")
PLACE = re.compile("[0-9]{1,9}")
MOST_OPENED = 100


@require_safe
@never_cache
def batch(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    opened = _opened(request) if "open" in request.GET else None
    place = request.GET.get("query", "")
    page = _parts(request, batch_id, opened, wanted=int(place) if PLACE.fullmatch(place) else None)
    is_open = not page.ended and request.user.is_authenticated
    may_cancel = is_open and is_own(account_of(request), batch_id)
    return render(request, "batch.html", {"page": page, "links": links, "may_cancel": may_cancel})


@require_safe
@never_cache
def batch_changes(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """Only what is not as it was `seen`; nothing where all is."""
    page = _parts(request, batch_id, _opened(request), _shown_queries(request))
    # The marks alone, in the order of the page: a batch may have hundreds of blocks.
    state, *seen = request.GET.get("seen", "").split(".")
    blocks = [
        block for block, mark in zip_longest(page.blocks, seen) if block and block.mark != mark
    ]
    state_changed = state != page.mark
    if not blocks and not state_changed:
        return HttpResponse(status=HTMX_STOPS if page.ended else 204)
    changed = {"page": page, "links": links, "blocks": blocks, "state_changed": state_changed}
    status = HTMX_STOPS if page.ended else 200
    return render(request, "batch_changes.html", changed, status=status)


@require_safe
@never_cache
def batch_block(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """One block's queries, where it is opened."""
    page = _parts(request, batch_id, _opened(request))
    for block in page.blocks:
        if block.rows:
            return render(
                request, "parts/block_rows.html", {"page": page, "block": block, "links": links}
            )
    raise Http404


def _parts(
    request: HttpRequest,
    batch_id: str,
    opened: dict[str, int] | None,
    shown: frozenset[int] | None = None,
    wanted: int | None = None,
) -> BatchParts:
    first = request.GET.get("blocks", "")
    page = parts_of(batch_id, opened, shown, int(first) if PLACE.fullmatch(first) else 0, wanted)
    if page is None:
        raise Http404
    return page


def _opened(request: HttpRequest) -> dict[str, int]:
    """The blocks that are open; others named there are none of the batch's."""
    named = request.GET.get("open", "").split(",")[:MOST_OPENED]
    found = [OPENED.fullmatch(each) for each in named]
    return {each[1]: int(each[2] or 0) for each in found if each}


def _shown_queries(request: HttpRequest) -> frozenset[int]:
    named = request.GET.get("rows", "").split(",")[:MOST_OPENED]
    return frozenset(int(each) for each in named if PLACE.fullmatch(each))
