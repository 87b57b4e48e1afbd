"""The pages of batches: the list, one batch with its refreshes, and the proof file."""

import re
from dataclasses import replace

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from accounts.sign_in.sessions import signed_in_account
from explorer.pages.batch_page import (
    BatchPage,
    BatchState,
    TableRange,
    batch_page,
    read_batch_state,
)
from explorer.pages.deliveries import delivery_summaries
from explorer.pages.downloads import batch_file_name
from explorer.pages.facts import answer_context
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_parameter, cursor_of, parse_ulid
from explorer.pages.sentences import batch_sentences
from explorer.pages.wait_hints import remaining_texts
from queries.reading import batches as reading
from queries.reading.proof_file import build_proof_file
from queries.statuses import BatchStatus
from queries.webhooks.log import batch_webhook

BATCHES_PER_PAGE = 25
EVERYTHING = reading.BatchFilter()
POLL_SECONDS = 1
STOP_POLLING = 286  # at this status htmx stops polling
SORT_ORDERS = {"ascending", "descending"}
KIND_WORDS = {
    reading.AskedFor.ACCOUNTS: "accounts",
    reading.AskedFor.HEADERS: "header fields",
    reading.AskedFor.EVENTS: "events",
}
TABLE_START = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?", re.ASCII)


def batch(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    page = _build_page(request, _read_state(request, batch_id, links), links)
    return render(request, "batch.html", _context(page, links))


def batch_changes(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """The page's content; an empty response if its digest is still `seen`."""
    state = _read_state(request, batch_id, links)
    status = 200 if state.is_live else STOP_POLLING
    if request.GET.get("seen") == state.digest:
        return HttpResponse(status=204 if state.is_live else STOP_POLLING)
    page = _build_page(request, state, links)
    return render(request, "parts/batch.html", _context(page, links), status=status)


def _context(page: BatchPage, links: PageLinks) -> dict[str, object]:
    answer = answer_context(page.only_fact, links) if page.only_fact else {}
    return {"page": page, "poll_seconds": POLL_SECONDS, **answer}


def _read_state(request: HttpRequest, batch_id: str, links: PageLinks) -> BatchState:
    batch = reading.batch_view(batch_id)
    if batch is None:
        raise Http404
    account = signed_in_account(request) if request.user.is_authenticated else None
    is_owner = account is not None and reading.owns_batch(account, batch_id)
    webhook = batch_webhook(account, batch_id) if account else None
    return read_batch_state(batch, links, is_owner=is_owner, webhook=webhook)


def _build_page(request: HttpRequest, state: BatchState, links: PageLinks) -> BatchPage:
    start = TABLE_START.fullmatch(request.GET.get("from", ""))
    order = request.GET.get("sort", "")
    table_range = TableRange(order=order if order in SORT_ORDERS else "")
    if start:
        table_range = TableRange(int(start[1]), int(start[2] or 0))
    if linked_start := TABLE_START.fullmatch(request.GET.get("query", "")):
        table_range = TableRange(int(linked_start[1]), is_linked=True)
    page = batch_page(state, links, table_range)
    if not page.table.rows:
        raise Http404
    return page


def query(_request: HttpRequest, batch_id: str, position: int) -> HttpResponse:
    """Redirect to the query on the page of its batch."""
    batch = reading.batch_view(batch_id)
    if batch is None or reading.find_query(batch, position) is None:
        raise Http404
    return redirect(f"{reverse('batch', args=[batch_id])}?query={position}#query-{position}")


def batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    return render(request, "batches.html", list_context(request, links))


def list_context(
    request: HttpRequest, links: PageLinks, listed: reading.BatchFilter = EVERYTHING
) -> dict[str, object]:
    """Those of the listed batches that match the filters in the URL."""
    status, asked_for = request.GET.get("status", ""), request.GET.get("kind", "")
    if status not in {"", *BatchStatus.values} or asked_for not in {"", *reading.AskedFor}:
        raise Http404
    wanted = replace(
        listed,
        status=status,
        destination=chain_parameter(request, "to"),
        source=chain_parameter(request, "from"),
        asked_for=reading.AskedFor(asked_for) if asked_for else None,
    )
    cursor = cursor_of(request, parse_ulid)
    page = reading.listed_batches(wanted, cursor=cursor, limit=BATCHES_PER_PAGE)
    routes = links.routes.registries
    return {
        "batches": page,
        "sentences": batch_sentences([batch.id for batch in page.rows], links),
        "deliveries": delivery_summaries(page.rows),
        "remaining_texts": remaining_texts(page.rows, links, timezone.now()),
        "wanted": wanted,
        "is_filtered": wanted != listed,
        "counted": reading.count_batches(wanted),
        "statuses": BatchStatus.values,
        "kinds": KIND_WORDS.items(),
        "sources": sorted({source for source, _ in routes}),
        "destinations": sorted({destination for _, destination in routes}),
    }


def batch_proof(_request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponseBase:
    name = f"{batch_file_name(batch_id, links)}-proof.json"
    file = build_proof_file(batch_id, links.routes)
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/json")
