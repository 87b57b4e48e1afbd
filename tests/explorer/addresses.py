"""Where pages and their forms are, as the resolver knows them; the API's are told elsewhere."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from explorer.urls import is_of_the_api

PARTS = {
    "number": "1",
    "place": "0",
    "account": f"0x{40 * 'a'}",
    "hash": f"0x{64 * 'a'}",
    "guide": "api",
}


def routes() -> list[str]:
    """As `keys/<slug:key_id>/revoke`."""
    return list(_routes(get_resolver().url_patterns))


def addresses_of_pages() -> list[str]:
    """One for each route."""
    return [
        address
        for route in routes()
        if not is_of_the_api(address := "/" + re.sub(r"<(?:(\w+):)?\w+>", _part, route))
    ]


def _part(found: re.Match[str]) -> str:
    return PARTS.get(found[1], "x")


def _routes(patterns: Sequence[Any], before: str = "") -> Iterator[str]:
    for each in patterns:
        route = f"{before}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from _routes(each.url_patterns, route)
        elif isinstance(each.pattern, RoutePattern):  # the admin's last two are lists and nothing
            yield route
