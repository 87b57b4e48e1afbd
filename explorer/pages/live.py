"""Pages that refresh themselves: `explorer/static/live.js` asks for their part every few seconds.

A poll has the address of the page and the digest that it has `seen`. The view reads what the digest
is made of, in a few statements, and renders the part only if the digest has changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from explorer.pages.lists import CURSOR_PARAMETERS

POLL_SECONDS = 2
STOP_POLLING = 286  # at this status htmx stops polling
MAX_NEWER = 99  # rows above those that a visitor reads, as far as they are counted


@dataclass(frozen=True, slots=True)
class Live:
    """A part that refreshes itself; `parts/live.html` is its mark."""

    digest: str
    address: str  # to poll
    id: str = "live"  # of the mark; a page may have several
    seconds: int = POLL_SECONDS


@dataclass(frozen=True, slots=True)
class LivePage:
    """The templates of a page and of the part that a poll gets, and the digest of its content."""

    page: str
    part: str
    digest: str
    seconds: int = POLL_SECONDS
    address: str = ""  # to poll; empty: that of the request
    is_over: bool = False  # nothing will change any more


def content_digest(*content: object) -> str:
    return blake2s(repr(content).encode(), digest_size=8).hexdigest()


def render_live(
    request: HttpRequest, page: LivePage, context: Callable[[], Mapping[str, Any]]
) -> HttpResponse:
    """Render the page, or for a poll its part: with status 204 if nothing has changed.

    Of a list, only the first page refreshes itself.
    """
    seen = request.GET.get("seen")
    if seen == page.digest:
        return HttpResponse(status=STOP_POLLING if page.is_over else 204)
    is_older_page = any(name in request.GET for name in CURSOR_PARAMETERS)
    live = Live(page.digest, page.address or _page_address(request), seconds=page.seconds)
    content = {**context(), "live": None if is_older_page or page.is_over else live}
    if seen is None:
        return render(request, page.page, content)
    return render(request, page.part, content, status=STOP_POLLING if page.is_over else 200)


def _page_address(request: HttpRequest) -> str:
    """The address of the page, without the parameters of a poll."""
    parameters = request.GET.copy()
    for name in ("seen", "top"):
        parameters.pop(name, None)
    return f"{request.path}?{parameters.urlencode()}".removesuffix("?")
