"""Search in the guides: sections with the words in their title first, then by frequency."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from django.utils.html import escape
from django.utils.safestring import SafeString

from explorer.guides.render import text_sections

MAX_TEXT, MAX_WORDS, MAX_HITS = 100, 8, 20
EXCERPT_BEFORE, EXCERPT_LENGTH = 60, 240
# Words of questions that say nothing about what is looked for
COMMON_WORDS = frozenset({
    "a", "an", "and", "are", "at", "be", "by", "can", "could", "do", "does", "for", "from",
    "get", "has", "have", "how", "i", "if", "in", "is", "it", "its", "many", "me", "much", "my",
    "of", "on", "or", "should", "so", "that", "the", "there", "this", "to", "was", "what", "when",
    "where", "which", "who", "why", "will", "with", "you",
})  # fmt: skip
WORD_RE = re.compile(r"[\w$]+")
MIN_WORD = 3  # letters of a word that may be a part of another one
TITLE_WEIGHT = 8
# References repeat the words of guides.
GUIDE_WEIGHTS = {"api": 0.7, "contributing": 0.4}


@dataclass(frozen=True, slots=True)
class GuideHit:
    guide: str  # its name
    guide_title: str
    title: str  # of the section; empty before the first one
    anchor: str
    excerpt: SafeString


@dataclass(frozen=True, slots=True)
class _Section:
    guide: str
    guide_title: str
    title: str  # empty before the first one
    anchor: str
    text: str
    terms: Counter[str]
    is_row: bool  # found by its whole name alone

    def hit(self, words: Sequence[str]) -> GuideHit:
        excerpt = _excerpt(self.text, words)
        return GuideHit(self.guide, self.guide_title, self.title, self.anchor, excerpt)


def search_guides(text: str, guides: Mapping[str, str]) -> list[GuideHit]:
    """The sections that have most of the words: first those with more of them in their title, then
    by how often they have them (BM25). A row of a table is found by the name in its first cell.

    `guides`: Markdown as `localized_markdown` returns it, by name.
    """
    spelled = list(dict.fromkeys(WORD_RE.findall(text.lower())))
    spelled = [word for word in spelled if word not in COMMON_WORDS] or spelled
    words = list(dict.fromkeys(map(_singular, spelled)))[:MAX_WORDS]
    sections = [
        section for name, markdown in guides.items() for section in _sections(name, markdown)
    ]
    counts = [[_count(word, section) for word in words] for section in sections]
    found = [sum(count > 0 for count in row) for row in counts]
    most = max(found, default=0)
    if not words or most <= len(words) // 2:  # half of the words prove little
        return []
    frequencies = [sum(row[place] > 0 for row in counts) for place in range(len(words))]
    rarities = [log(1 + len(sections) / (1 + frequency)) for frequency in frequencies]
    mean_length = sum(section.terms.total() for section in sections) / len(sections)

    def rank(section: _Section, row: Sequence[float]) -> tuple[int, bool, float]:
        length = 0.4 + 0.6 * section.terms.total() / mean_length
        score = sum(
            rarity * count / (count + length) for rarity, count in zip(rarities, row, strict=True)
        )
        title = set(_terms(section.title or section.guide_title))
        weight = GUIDE_WEIGHTS.get(section.guide.partition("/")[0], 1)
        return len(title.intersection(words)), not section.is_row, score * weight

    ranked = [
        (rank(section, row), section)
        for section, row, count in zip(sections, counts, found, strict=True)
        if count == most
    ]
    ranked.sort(key=lambda pair: pair[0], reverse=True)  # stable: guides stay in their order
    return [section.hit(spelled) for _, section in ranked[:MAX_HITS]]


def _terms(text: str) -> list[str]:
    return [_singular(word) for word in WORD_RE.findall(text.lower())]


def _singular(word: str) -> str:
    """Without a plural's s."""
    return word[:-1] if len(word) > MIN_WORD and word.endswith("s") else word


def _count(word: str, section: _Section) -> float:
    """How often the word occurs; one that only begins so counts half."""
    count = section.terms[word]
    if count or section.is_row or len(word) < MIN_WORD:
        return count
    return 0.5 if any(term.startswith(word) for term in section.terms) else 0


@lru_cache(64)
def _sections(guide: str, markdown: str) -> tuple[_Section, ...]:
    first, *_ = sections = tuple(text_sections(markdown))
    return tuple(
        _Section(
            guide,
            first.title,
            section.title if section.anchor else "",
            section.anchor,
            section.text,
            # The section around a row has its text.
            Counter(
                TITLE_WEIGHT * _terms(section.title) + (not section.is_row) * _terms(section.text)
            ),
            section.is_row,
        )
        for section in sections
    )


def _excerpt(text: str, words: Sequence[str]) -> SafeString:
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
