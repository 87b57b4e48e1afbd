"""The pages of a list: which one is asked for, of which chain, and the ways to those beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest

from queries.reading.pagination import Cursor, Slice, numbers_of

# Which side of a row the page lies on, as its address says it.
SIDES = BEFORE, AFTER = "before", "after"
Key = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Ways:
    """Addresses of pages beside this one; empty where there is none."""

    older: str
    newer: str
    first: str  # the newest page, where this is another one


def cursor_of(
    request: HttpRequest, read: Callable[[str], Key | None], sides: tuple[str, ...] = SIDES
) -> Cursor | None:
    """None at first; what is no row's key leads to no page."""
    for side in sides:
        if side in request.GET:
            key = read(request.GET[side])
            if key is None:
                raise Http404
            return Cursor(key, towards_newer=side == AFTER)
    return None


def chain_asked(request: HttpRequest, parameter: str) -> int | None:
    """None: all chains."""
    text = request.GET.get(parameter, "")
    if not text:
        return None
    if (chain := numbers_of(text, 1)) is None:
        raise Http404
    return chain[0]


def numbers(count: int) -> Callable[[str], Key | None]:
    """For `cursor_of`: rows are ordered by so many numbers."""
    return lambda text: numbers_of(text, count)


def ways(request: HttpRequest, shown: Slice[Any]) -> Ways:
    is_first = request.GET.keys().isdisjoint(SIDES)
    return Ways(
        older=_address(request, BEFORE, shown.older) if shown.older else "",
        newer=_address(request, AFTER, shown.newer) if shown.newer else "",
        first="" if is_first else _address(request),
    )


def _address(request: HttpRequest, side: str = "", key: str = "") -> str:
    """The same page with the same filters, at another row."""
    kept = request.GET.copy()
    for each in SIDES:
        kept.pop(each, None)
    if side:
        kept[side] = key
    return f"?{kept.urlencode()}"
