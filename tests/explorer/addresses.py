"""The routes of all pages and their forms, from Django's resolver."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from explorer.urls import is_api_path

EXAMPLES = {
    "number": "1",
    "position": "0",
    "account": f"0x{40 * 'a'}",
    "hash": f"0x{64 * 'a'}",
    "guide": "api",
}


def routes() -> list[str]:
    """Such as `keys/<slug:key_id>/revoke`."""
    return list(_routes(get_resolver().url_patterns))


def page_paths() -> list[str]:
    """An example path per route, without the API's."""
    return [
        path
        for route in routes()
        if not is_api_path(path := "/" + re.sub(r"<(?:(\w+):)?\w+>", _example, route))
    ]


def _example(match: re.Match[str]) -> str:
    return EXAMPLES.get(match[1], "x")


def _routes(patterns: Sequence[Any], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif isinstance(pattern.pattern, RoutePattern):  # not the admin's catch-all
            yield route
