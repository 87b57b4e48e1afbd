"""The pages of batches: the list, one batch with its refreshes, and the proof file."""

import re
from dataclasses import replace

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from accounts.sign_in.sessions import signed_in_account
from explorer.pages.batch_page import (
    BatchPage,
    BatchState,
    TableRange,
    batch_page,
    read_batch_state,
)
from explorer.pages.batch_rows import read_batch_list
from explorer.pages.downloads import batch_file_name
from explorer.pages.facts import answer_context
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_parameter, cursor_of, parse_ulid, top_parameter
from explorer.pages.live import LivePage, render_live
from queries import reading
from queries.reading import build_proof_file
from queries.statuses import BatchStatus
from queries.webhooks.log import batch_webhook

BATCHES_PER_PAGE = 25
SORT_ORDERS = {"ascending", "descending"}
KIND_WORDS = {
    reading.AskedFor.ACCOUNTS: "accounts",
    reading.AskedFor.HEADERS: "header fields",
    reading.AskedFor.EVENTS: "events",
}
TABLE_START = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?", re.ASCII)


def batch(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    state = _read_state(request, batch_id, links)

    def context() -> dict[str, object]:
        page = _build_page(request, state, links)
        answer = answer_context(page.only_fact, links) if page.only_fact else {}
        return {"page": page, **answer}

    page = LivePage(
        *("batch.html", "parts/batch.html", state.digest), seconds=1, is_over=not state.is_live
    )
    return render_live(request, page, context)


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
    return batch_list_page(request, links, "batches.html", reading.BatchFilter())


def batch_list_page(
    request: HttpRequest, links: PageLinks, template: str, listed: reading.BatchFilter
) -> HttpResponse:
    """A page of those of the listed batches that match the filters in the URL."""
    status, asked_for = request.GET.get("status", ""), request.GET.get("kind", "")
    if status not in {"", *BatchStatus.values, reading.LATE} or asked_for not in {
        "",
        *reading.AskedFor,
    }:
        raise Http404
    wanted = replace(
        listed,
        status=status,
        destination=chain_parameter(request, "to"),
        source=chain_parameter(request, "from"),
        asked_for=reading.AskedFor(asked_for) if asked_for else None,
    )
    cursor, top = cursor_of(request, parse_ulid), top_parameter(request)
    shown = read_batch_list(links, wanted, cursor=cursor, top=top, limit=BATCHES_PER_PAGE)
    routes = links.routes.registries

    def context() -> dict[str, object]:
        return {
            **shown.context(links),
            "wanted": wanted,
            "is_filtered": wanted != listed,
            "counted": reading.count_batches(wanted),
            "statuses": BatchStatus.values,
            "kinds": KIND_WORDS.items(),
            "sources": sorted({source for source, _ in routes}),
            "destinations": sorted({destination for _, destination in routes}),
            "list_url": request.path,
        }

    return render_live(request, LivePage(template, "parts/batch_list.html", shown.digest), context)


def batch_proof(_request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponseBase:
    name = f"{batch_file_name(batch_id, links)}-proof.json"
    file = build_proof_file(batch_id, links.routes)
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/json")
