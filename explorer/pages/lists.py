"""Pages of a list: the requested cursor; `parts/older_newer.html` links to other pages."""

from collections.abc import Callable

from django.http import Http404, HttpRequest

from queries.ids import is_ulid
from queries.reading import Cursor, parse_cursor

CURSOR_PARAMETERS = OLDER_PARAMETER, NEWER_PARAMETER = "before", "after"
CursorKey = tuple[int | str, ...]


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


def top_parameter(request: HttpRequest) -> str:
    """The newest row that a poll wants; empty if it wants the newest of all."""
    top = request.GET.get("top", "")
    if top and not is_ulid(top):
        raise Http404
    return top


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
