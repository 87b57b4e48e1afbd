"""Search in the guides: sections that have all words, those with the words in their title first."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString

from explorer.guides.render import text_sections

MAX_TEXT, MAX_WORDS, MAX_HITS = 100, 8, 20
EXCERPT_BEFORE, EXCERPT_LENGTH = 60, 240


@dataclass(frozen=True, slots=True)
class GuideHit:
    guide: str  # its name
    guide_title: str
    title: str  # of the section; empty before the first one
    anchor: str
    excerpt: SafeString


def search_guides(text: str, guides: Mapping[str, str]) -> list[GuideHit]:
    """The sections, best first. `guides`: Markdown as `localized_markdown` returns it, by name."""
    words = text.lower().split()[:MAX_WORDS]
    if not words:
        return []
    hits = [pair for name, markdown in guides.items() for pair in _hits(name, markdown, words)]
    hits.sort(key=lambda pair: pair[0], reverse=True)  # stable: guides stay in their order
    return [hit for _, hit in hits[:MAX_HITS]]


def _hits(name: str, markdown: str, words: list[str]) -> Iterator[tuple[int, GuideHit]]:
    (guide_title, _, _), *_ = sections = _sections(markdown)
    for title, anchor, text in sections:
        lowered, heading = text.lower(), title.lower()
        if all(word in lowered or word in heading for word in words):
            in_title = sum(word in heading for word in words)
            section_title = title if anchor else ""
            yield (
                in_title,
                GuideHit(name, guide_title, section_title, anchor, _excerpt(text, words)),
            )


@lru_cache(64)
def _sections(markdown: str) -> tuple[tuple[str, str, str], ...]:
    return tuple(text_sections(markdown))


def _excerpt(text: str, words: list[str]) -> SafeString:
    """The text around the first word that it has, all of the words marked."""
    lowered = text.lower()
    first = min((lowered.find(word) for word in words if word in lowered), default=0)
    start = text.rfind(" ", 0, max(first - EXCERPT_BEFORE, 0)) + 1
    part = text[start : start + EXCERPT_LENGTH]
    if start + EXCERPT_LENGTH < len(text):
        part = part.rpartition(" ")[0] or part
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(f"({pattern})", part, flags=re.IGNORECASE)
    tags = ("{}", "<mark>{}</mark>")
    marked = (tags[index % 2].format(escape(piece)) for index, piece in enumerate(pieces))
    more = ("… " if start else "", "".join(marked), " …" if start + len(part) < len(text) else "")
    return SafeString("".join(more))
