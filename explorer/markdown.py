"""Markdown files of ours as pages: tables and code as the stylesheet has them, no inline style."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

# HTML within the Markdown is shown as text.
_PARSER = MarkdownIt("commonmark", {"html": False, "typographer": True})
_PARSER.enable(["table", "smartquotes"])


@dataclass(frozen=True, slots=True)
class Guide:
    title: str  # its first heading
    body: SafeString  # what follows, as HTML


def read_guide(file: Path) -> Guide:
    tokens = _PARSER.parse(file.read_text())
    _, title, _, *rest = tokens
    for tag, text in pairwise(rest):
        if tag.type == "heading_open":
            tag.attrSet("id", _anchor(text.content))
    rest[0].attrSet("class", "lead")
    _describe_tables(rest)
    html = _PARSER.renderer.render(rest, _PARSER.options, {})
    return Guide(title.content, mark_safe(html))  # noqa: S308  (a file of ours, and html is off)


def _anchor(heading: str) -> str:
    """As code hosts make it, so that a link works there and here."""
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _describe_tables(tokens: Sequence[Token]) -> None:
    """A row begins with its heading. Every other cell names its column, which narrow screens show.
    A column of numbers has a class, because the policy allows no inline style.
    """
    names: list[str] = []
    column = 0
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            token.attrSet("class", "wrapped")
            names = []
        elif token.type == "tr_open":
            column = 0
        elif token.type in {"th_open", "td_open"}:
            text, end = tokens[place + 1], tokens[place + 2]
            if token.attrs.pop("style", "") == "text-align:right":
                token.attrSet("class", "number")
            if token.type == "th_open":
                names.append(text.content)
                token.attrSet("scope", "col")
            elif column == 0:
                token.tag = end.tag = "th"
                token.attrSet("scope", "row")
            else:
                token.attrSet("data-name", names[column])
            column += 1


def _code(_renderer: RendererHTML, tokens: Sequence[Token], place: int, *_: object) -> str:
    code = tokens[place].content.removesuffix("\n")
    return format_html('<pre class="sample" tabindex="0"><code>{}</code></pre>\n', code)


_PARSER.add_render_rule("fence", _code)
