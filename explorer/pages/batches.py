"""The pages of batches: the list, one batch with its progress, one query, the proof file.

Each part of a batch's page has a `mark`, a digest of its content: only changed parts are sent.
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

from accounts.shared.errors import Refusal, answer_of
from accounts.sign_in.sessions import account_of
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_asked, cursor_of, ways
from queries.ids import is_batch_id
from queries.reading import batches as stored
from queries.reading import progress
from queries.reading.batches import is_own
from queries.reading.progress import BlockProgress, Progress
from queries.reading.proof_file import proof_of
from queries.reading.view_models import BatchView, QueryPage
from queries.wait_reasons import Reason

ROWS = 50  # of a block, on one page of it
BLOCKS = 50  # of a batch, on one page of it
OPEN_AT_FIRST = 12  # queries, in all blocks together: more are opened on demand
SHOWN_AT_FIRST = 3  # queries: a batch with no more than this has all of them open


@dataclass(frozen=True, slots=True)
class BlockPart:
    """One block with its queries, where it is open."""

    progress: BlockProgress
    rows: QueryPage | None
    waits_for: Reason | None  # where the batch as a whole does not say the same
    mark: str

    @property
    def before(self) -> int | None:
        """The place of the first row of the page before this one."""
        first = self.rows.queries[0].place if self.rows and self.rows.queries else 0
        return max(first - ROWS, self.progress.first) if first > self.progress.first else None

    @property
    def key(self) -> str:
        return self.progress.key


@dataclass(frozen=True, slots=True)
class BatchParts:
    """All that the page shows of a batch."""

    batch: BatchView
    progress: Progress
    blocks: tuple[BlockPart, ...]
    mark: str  # of what is not in a block
    shown: frozenset[int] | None  # places of queries whose rows are open; None at first
    first_block: int  # which of all blocks the page begins with

    @property
    def next_block(self) -> int | None:
        """Which the next page begins with."""
        following = self.first_block + BLOCKS
        return following if following < len(self.progress.blocks) else None

    def shows(self, place: int) -> bool:
        if self.shown is None:
            return self.progress.queries <= SHOWN_AT_FIRST
        return place in self.shown

    @property
    def ended(self) -> bool:
        return self.batch.ended is not None


def _part(shown: BatchView, block: BlockProgress, rows: QueryPage | None) -> BlockPart:
    waits_for = None if block.waits_for == shown.waits_for else block.waits_for
    return BlockPart(block, rows, waits_for, _mark(block, rows, waits_for, shown.ended))


def _mark(*shown: object) -> str:
    return blake2s(repr(shown).encode(), digest_size=3).hexdigest()


HTMX_STOPS = 286  # its status for an answer that is the last one
OPENED = re.compile(r"(\d{1,20}-t?\d{1,20})(?::(\d{1,9}))?")
PLACE = re.compile("[0-9]{1,9}")
MOST_OPENED = 100


def _place(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if PLACE.fullmatch(text) else None


def batch(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    opened = _opened(request) if "open" in request.GET else None
    page = _parts(request, batch_id, opened, wanted=_place(request, "query"))
    is_open = not page.ended and request.user.is_authenticated
    may_cancel = is_open and is_own(account_of(request), batch_id)
    return render(request, "batch.html", {"page": page, "links": links, "may_cancel": may_cancel})


def batch_changes(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """Only the parts whose marks differ from `seen`; an empty answer if none does."""
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
    opened: Mapping[str, int] | None,
    shown_queries: frozenset[int] | None = None,
    wanted: int | None = None,
) -> BatchParts:
    """`opened`: the keys of blocks, each with the place it is shown from; None at first.

    `wanted`: the place of a query which is shown open, wherever in the batch it is.
    """
    shown = stored.batch(batch_id)
    if shown is None:
        raise Http404
    whole, first_block = progress.progress_of(shown), _place(request, "blocks") or 0
    if opened is None:
        at_first = whole.blocks if whole.queries <= OPEN_AT_FIRST else ()
        opened = {block.key: block.first for block in at_first}
    for number, block in enumerate(whole.blocks):
        if wanted is not None and 0 <= wanted - block.first < block.queries:
            first_block = number - number % BLOCKS
            opened = {**opened, block.key: wanted - (wanted - block.first) % ROWS}
            shown_queries = frozenset({wanted})
    on_page = whole.blocks[first_block : first_block + BLOCKS]
    firsts = {block: opened[block.key] for block in on_page if block.key in opened}
    rows = progress.queries_of_blocks(shown, firsts, most=ROWS)
    blocks = tuple(_part(shown, block, rows.get(block.key)) for block in on_page)
    mark = _mark(shown, whole.steps, whole.lost)
    return BatchParts(shown, whole, blocks, mark, shown_queries, first_block)


def _opened(request: HttpRequest) -> dict[str, int]:
    """The keys of open blocks, each with the place it is shown from; unknown keys do no harm."""
    named = request.GET.get("open", "").split(",")[:MOST_OPENED]
    found = [OPENED.fullmatch(each) for each in named]
    return {each[1]: int(each[2] or 0) for each in found if each}


def _shown_queries(request: HttpRequest) -> frozenset[int]:
    named = request.GET.get("rows", "").split(",")[:MOST_OPENED]
    return frozenset(int(each) for each in named if PLACE.fullmatch(each))


def query(request: HttpRequest, batch_id: str, place: int, links: PageLinks) -> HttpResponse:
    batch = stored.batch(batch_id)
    query = stored.query_at(batch, place) if batch else None
    if batch is None or query is None:
        raise Http404
    shown = {
        "page": SimpleNamespace(batch=batch),  # the templates of a whole batch's page find it there
        "query": query,
        "links": links,
        "first": _place(request, "from") or 0,
    }
    template = "query.html"
    if request.headers.get("HX-Request"):
        template = "parts/values.html" if request.GET.get("from") else "parts/query_body.html"
    return render(request, template, shown)


LISTED = 50  # batches, on one page of their list


def batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    status = request.GET.get("status", "")
    destination = chain_asked(request, "to")
    if status not in {"", *stored.STATUSES}:
        raise Http404
    cursor = cursor_of(request, lambda text: (text,) if is_batch_id(text) else None)
    shown = stored.batches(status=status, destination=destination, cursor=cursor, most=LISTED)
    return render(
        request,
        "batches.html",
        {
            "links": links,
            "shown": shown,
            "ways": ways(request, shown),
            "status": status,
            "statuses": stored.STATUSES,
            "destination": destination,
            "destinations": sorted({each for _, each in links.routes.registries}),
            "filtered": bool(status) or destination is not None,
        },
    )


def batch_proof(_request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponseBase:
    if stored.batch(batch_id) is None:
        raise Http404
    try:
        file = proof_of(batch_id, links.routes)
    except Refusal as refusal:
        return answer_of(refusal)
    name = f"tacitus-{batch_id}-proof.json"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/json")
