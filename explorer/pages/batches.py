"""The pages of batches: the list, one batch with its progress, one query, the proof file.

Each part of a batch's page has a `digest` of its content: a refresh sends only changed parts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2s
from itertools import zip_longest
from types import SimpleNamespace

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.shared.errors import RefusalError, error_response
from accounts.sign_in.sessions import signed_in_account
from explorer.pages.links import PageLinks
from explorer.pages.lists import adjacent_pages, chain_parameter, cursor_of
from queries.ids import is_ulid
from queries.reading import batches as reading
from queries.reading import progress
from queries.reading.batches import owns_batch
from queries.reading.progress import BlockProgress, Progress
from queries.reading.proof_file import build_proof_file
from queries.reading.view_models import BatchView, QueryPage
from queries.statuses import BatchStatus
from queries.wait_reasons import Reason

QUERIES_PER_PAGE = 50  # of a block
BLOCKS_PER_PAGE = 50  # of a batch
BATCHES_PER_PAGE = 50
MAX_QUERIES_IN_OPEN_BLOCKS = 12  # a batch with more begins with all blocks closed
MAX_OPEN_QUERIES = 3  # a batch with more begins with all queries closed


@dataclass(frozen=True, slots=True)
class BlockPart:
    """A block of a batch; `rows` has a page of its queries if it is open."""

    progress: BlockProgress
    rows: QueryPage | None
    waits_for: Reason | None  # unless the whole batch waits for the same
    digest: str

    @property
    def previous_rows(self) -> int | None:
        """The first position of the previous page of queries."""
        first = self.rows.queries[0].position if self.rows and self.rows.queries else 0
        if first <= self.progress.first_position:
            return None
        return max(first - QUERIES_PER_PAGE, self.progress.first_position)

    @property
    def key(self) -> str:
        return self.progress.key


@dataclass(frozen=True, slots=True)
class BatchPage:
    batch: BatchView
    progress: Progress
    blocks: tuple[BlockPart, ...]
    digest: str  # of everything outside the blocks
    open_queries: frozenset[int] | None  # by position; None on the first visit
    first_block: int  # index among the blocks of the batch

    @property
    def next_block(self) -> int | None:
        following = self.first_block + BLOCKS_PER_PAGE
        return following if following < len(self.progress.blocks) else None

    def is_query_open(self, position: int) -> bool:
        if self.open_queries is None:
            return self.progress.query_count <= MAX_OPEN_QUERIES
        return position in self.open_queries

    @property
    def has_ended(self) -> bool:
        return self.batch.ended_at is not None


def _block_part(batch: BatchView, block: BlockProgress, rows: QueryPage | None) -> BlockPart:
    waits_for = None if block.waits_for == batch.waits_for else block.waits_for
    return BlockPart(block, rows, waits_for, _digest(block, rows, waits_for, batch.ended_at))


def _digest(*content: object) -> str:
    return blake2s(repr(content).encode(), digest_size=3).hexdigest()


STOP_POLLING = 286  # at this status htmx stops polling
OPEN_BLOCK_KEY = re.compile(r"(\d{1,20}-t?\d{1,20})(?::(\d{1,9}))?")
QUERY_POSITION = re.compile("[0-9]{1,9}")
MAX_OPEN_KEYS = 100


def _position_parameter(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if QUERY_POSITION.fullmatch(text) else None


def batch(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    open_blocks = _open_blocks(request) if "open" in request.GET else None
    position = _position_parameter(request, "query")
    page = _batch_page(request, batch_id, open_blocks, linked=position)
    may_cancel = (
        not page.has_ended
        and request.user.is_authenticated
        and owns_batch(signed_in_account(request), batch_id)
    )
    return render(request, "batch.html", {"page": page, "links": links, "may_cancel": may_cancel})


def batch_changes(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """Only the parts whose digests differ from `seen`; an empty response if none does."""
    page = _batch_page(request, batch_id, _open_blocks(request), _open_queries(request))
    # Digests without keys, in the order of the page, keep the URL short.
    state, *seen = request.GET.get("seen", "").split(".")
    blocks = [
        block
        for block, digest in zip_longest(page.blocks, seen)
        if block and block.digest != digest
    ]
    state_changed = state != page.digest
    if not blocks and not state_changed:
        return HttpResponse(status=STOP_POLLING if page.has_ended else 204)
    context = {"page": page, "links": links, "blocks": blocks, "state_changed": state_changed}
    status = STOP_POLLING if page.has_ended else 200
    return render(request, "batch_changes.html", context, status=status)


def batch_block(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """A page of queries of the block that `open` names."""
    page = _batch_page(request, batch_id, _open_blocks(request))
    for block in page.blocks:
        if block.rows:
            return render(
                request, "parts/block_rows.html", {"page": page, "block": block, "links": links}
            )
    raise Http404


def _batch_page(
    request: HttpRequest,
    batch_id: str,
    open_blocks: Mapping[str, int] | None,
    open_queries: frozenset[int] | None = None,
    linked: int | None = None,
) -> BatchPage:
    """`open_blocks`: the first position to show, by block key; None opens the default ones.

    `linked`: turn to the page of this query and open it.
    """
    batch = reading.batch_view(batch_id)
    if batch is None:
        raise Http404
    overall = progress.batch_progress(batch)
    first_block = _position_parameter(request, "blocks") or 0
    if open_blocks is None:
        default = overall.blocks if overall.query_count <= MAX_QUERIES_IN_OPEN_BLOCKS else ()
        open_blocks = {block.key: block.first_position for block in default}
    for index, block in enumerate(overall.blocks):
        if linked is not None and 0 <= linked - block.first_position < block.query_count:
            first_block = index - index % BLOCKS_PER_PAGE
            first = linked - (linked - block.first_position) % QUERIES_PER_PAGE
            open_blocks = {**open_blocks, block.key: first}
            open_queries = frozenset({linked})
    visible = overall.blocks[first_block : first_block + BLOCKS_PER_PAGE]
    starts = {block: open_blocks[block.key] for block in visible if block.key in open_blocks}
    rows = progress.block_query_pages(batch, starts, limit=QUERIES_PER_PAGE)
    blocks = tuple(_block_part(batch, block, rows.get(block.key)) for block in visible)
    digest = _digest(batch, overall.steps, overall.lost_queries, overall.failed_queries)
    return BatchPage(batch, overall, blocks, digest, open_queries, first_block)


def _open_blocks(request: HttpRequest) -> dict[str, int]:
    """The first position to show of each open block, by key; unknown keys are harmless."""
    keys = request.GET.get("open", "").split(",")[:MAX_OPEN_KEYS]
    matches = [OPEN_BLOCK_KEY.fullmatch(key) for key in keys]
    return {match[1]: int(match[2] or 0) for match in matches if match}


def _open_queries(request: HttpRequest) -> frozenset[int]:
    positions = request.GET.get("rows", "").split(",")[:MAX_OPEN_KEYS]
    return frozenset(int(position) for position in positions if QUERY_POSITION.fullmatch(position))


def query(request: HttpRequest, batch_id: str, position: int, links: PageLinks) -> HttpResponse:
    batch = reading.batch_view(batch_id)
    query = reading.find_query(batch, position) if batch else None
    if batch is None or query is None:
        raise Http404
    context = {
        "page": SimpleNamespace(batch=batch),  # shares templates with the page of a whole batch
        "query": query,
        "links": links,
        "first": _position_parameter(request, "from") or 0,
    }
    template = "query.html"
    if request.headers.get("HX-Request"):
        template = "parts/values.html" if request.GET.get("from") else "parts/query_body.html"
    return render(request, template, context)


def batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    status = request.GET.get("status", "")
    destination = chain_parameter(request, "to")
    if status not in {"", *BatchStatus.values}:
        raise Http404
    cursor = cursor_of(request, lambda text: (text,) if is_ulid(text) else None)
    page = reading.listed_batches(
        status=status, destination=destination, cursor=cursor, limit=BATCHES_PER_PAGE
    )
    return render(
        request,
        "batches.html",
        {
            "links": links,
            "batches": page,
            "adjacent": adjacent_pages(request, page),
            "status": status,
            "statuses": BatchStatus.values,
            "destination": destination,
            "destinations": sorted({destination for _, destination in links.routes.registries}),
            "filtered": bool(status) or destination is not None,
        },
    )


def batch_proof(_request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponseBase:
    if reading.batch_view(batch_id) is None:
        raise Http404
    try:
        file = build_proof_file(batch_id, links.routes)
    except RefusalError as refusal:
        return error_response(refusal)
    name = f"tacitus-{batch_id}-proof.json"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/json")
