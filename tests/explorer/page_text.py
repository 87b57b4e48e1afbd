"""Pages as text, for tests without a browser."""

import re
from html import unescape
from typing import Any

from django.test import Client


def visible_text(html: str) -> str:
    """The text between the tags, on one line; words stay whole where they may break."""
    whole = re.sub("<wbr>(<span[^>]*>)?", "", html)
    return " ".join(unescape(re.sub("<[^>]*>", " ", whole)).split())


def page_text(address: str, client: Client | None = None) -> str:
    """The visible text of a page that exists."""
    answer: Any = (client or Client()).get(address, headers={"Accept": "text/html"})
    assert answer.status_code == 200, address
    return visible_text(answer.text)


def textarea(answer: Any, name: str) -> str:
    """The content of the page's textarea with this id."""
    match = re.search(f'<textarea id="{name}"[^>]*>(.*?)</textarea>', answer.text, re.DOTALL)
    assert match, name
    return unescape(match[1])
