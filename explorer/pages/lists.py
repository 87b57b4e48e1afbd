"""Pages of a list: the requested cursor, and the links to newer and older pages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest

from queries.ids import is_ulid
from queries.reading.pagination import Cursor, Page, parse_cursor

CURSOR_PARAMETERS = OLDER_PARAMETER, NEWER_PARAMETER = "before", "after"
CursorKey = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class AdjacentPages:
    """Links; empty if there is no such page."""

    older: str
    newer: str
    first: str  # empty on the first page


def cursor_of(
    request: HttpRequest,
    parse: Callable[[str], CursorKey | None],
    parameters: tuple[str, ...] = CURSOR_PARAMETERS,
) -> Cursor | None:
    """The cursor in the URL; None for the first page. A malformed one raises Http404."""
    for parameter in parameters:
        if parameter in request.GET:
            key = parse(request.GET[parameter])
            if key is None:
                raise Http404
            return Cursor(key, towards_newer=parameter == NEWER_PARAMETER)
    return None


def chain_parameter(request: HttpRequest, name: str) -> int | None:
    """A chain id from the URL; None if the parameter is missing or empty."""
    text = request.GET.get(name, "")
    if not text:
        return None
    if (chain := parse_cursor(text, 1)) is None:
        raise Http404
    return chain[0]


def parse_ulid(text: str) -> CursorKey | None:
    """A parser for `cursor_of`."""
    return (text,) if is_ulid(text) else None


def number_parser(count: int) -> Callable[[str], CursorKey | None]:
    """A parser for `cursor_of`: keys of `count` numbers."""
    return lambda text: parse_cursor(text, count)


def adjacent_pages(request: HttpRequest, page: Page[Any]) -> AdjacentPages:
    is_first = request.GET.keys().isdisjoint(CURSOR_PARAMETERS)
    return AdjacentPages(
        older=_page_url(request, OLDER_PARAMETER, page.older) if page.older else "",
        newer=_page_url(request, NEWER_PARAMETER, page.newer) if page.newer else "",
        first="" if is_first else _page_url(request),
    )


def _page_url(request: HttpRequest, parameter: str = "", key: str = "") -> str:
    """The URL of the same list with the same filters, at another cursor."""
    query = request.GET.copy()
    for name in CURSOR_PARAMETERS:
        query.pop(name, None)
    if parameter:
        query[parameter] = key
    return f"?{query.urlencode()}"
