"""The guides: Markdown files for code hosts, which the server adapts to its own routes.

README.md, beside this file, says how to write one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from explorer.guides.highlight import highlight
from explorer.guides.networks import NETWORK_PAGES, network_markdown
from explorer.guides.reference import REFERENCE_PAGES, anchor_pages, reference_markdown
from queries.api.examples import TIME, RouteExample
from queries.sources import NativeRegistry, derived_address

GUIDE_GROUPS = {  # as in the README
    "You write a dApp": (
        "first-fact", "integrate", "contracts", "testing", "front-end", "events", "deliver", "api",
        "status", "webhooks", "how-it-works", "faq", "glossary",
    ),
    "You run it for others": (
        "running", "operating", "public-networks", "networks", "beacon-routes", "configuration",
        "security",
    ),
    "You want to check or change it": ("proofs", "contributing"),
}  # fmt: skip
GUIDES = tuple(name for names in GUIDE_GROUPS.values() for name in names)
PAGES = (*GUIDES, *NETWORK_PAGES, *REFERENCE_PAGES)  # only the guides are files
LOCALIZED_GUIDES = {
    "first-fact", "integrate", "contracts", "testing", "front-end", "events", "deliver", "api",
    "webhooks", "proofs", *REFERENCE_PAGES,
}  # fmt: skip
FOLDER = settings.BASE_DIR / "explorer" / "docs"


def guide_path(name: str) -> Path:
    return FOLDER / f"{name}.md"


def page_source(name: str) -> str:
    """The Markdown of a guide, of a network's page or of a page of the API reference."""
    if name in REFERENCE_PAGES:
        return reference_markdown(name)
    return network_markdown(name) if name in NETWORK_PAGES else guide_path(name).read_text()


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    title: str
    summary: str  # the first sentence below the title


APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


@cache
def grouped_entries() -> Mapping[str, tuple[Entry, ...]]:
    """The guides by the heading of their group."""
    return {
        heading: tuple(page_entry(name) for name in names)
        for heading, names in GUIDE_GROUPS.items()
    }


def page_entry(name: str) -> Entry:
    title, lead, *_ = page_source(name).split("\n\n", 2)
    lead = LINK_RE.sub(lambda match: match["text"] or match["code"].strip("`"), lead)
    sentence = " ".join(lead.split()).replace("'", APOSTROPHE).partition(". ")[0].rstrip(".")
    return Entry(name, title.removeprefix("# "), f"{sentence}.")


# ----------------------------------------------------------------------- Markdown of this server

DEMO_SITE, DEMO_NODE = "http://127.0.0.1:8000", "http://127.0.0.1:8545"
DEMO_CHAIN, DEMO_NAME, DEMO_BLOCK = 31337, "Demo A", 17
DEMO_REGISTRY = derived_address(NativeRegistry(DEMO_CHAIN, DEMO_CHAIN))

CODE_PATTERN = r"(?P<code>^(?P<fence>```+).*?^(?P=fence)|`[^`\n]+`)"
LINK_PATTERN = r"\[(?P<text>[^\[\]]+)\]\((?!https?:|/)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
CODE_RE = re.compile(CODE_PATTERN, re.DOTALL | re.MULTILINE)
LINK_RE = re.compile(f"{LINK_PATTERN}|{CODE_PATTERN}", re.DOTALL | re.MULTILINE)
MODULES_RE = re.compile(r"^<!-- modules: .* -->\n", re.MULTILINE)
TABLE_RE = re.compile(r"^<!-- table: ([\w-]+) -->$(\n.+)*", re.MULTILINE)


def localized_markdown(
    name: str,
    site: str,
    example: RouteExample | None,
    tables: Mapping[str, Callable[[], str]],
    files: Mapping[str, str],
) -> str:
    """The guide's Markdown for this server, with absolute links.

    `files`: URLs of the repository files that the server serves, by name.
    """
    text = page_source(name)
    if name in LOCALIZED_GUIDES and example:
        text = _localize(text, example)
    text = MODULES_RE.sub("", text)
    text = TABLE_RE.sub(lambda match: tables[match[1]](), text)
    text = LINK_RE.sub(partial(_absolute_link, site=site, files=files), text)
    old = DEMO_SITE if name in LOCALIZED_GUIDES else f"]({DEMO_SITE}"
    return text.replace(old, old.replace(DEMO_SITE, site))


def _localize(text: str, example: RouteExample) -> str:
    def replace_block(code: re.Match[str]) -> str:
        if example.block is None:
            return code[0]
        return re.sub(rf"(?<![\w.]){DEMO_BLOCK}(?![\w.])", str(example.block), code[0])

    text = CODE_RE.sub(replace_block, text)
    destination = rf"((?:--to|destination\w*)[\"']?[ :=]+[\"']?){DEMO_CHAIN}\b"
    text = re.sub(destination, rf"\g<1>{example.destination.id}", text, flags=re.IGNORECASE)
    text = re.sub(r"(\bfee[\"']?[:=]? ?[\"']?)0\b", rf"\g<1>{example.fee}", text)
    for old, new in (
        (rf"\b{DEMO_CHAIN}\b", str(example.source.id)),
        (DEMO_NAME, example.source.name),
        (DEMO_REGISTRY, example.registry),
        (re.escape(DEMO_NODE), example.node),
        (TIME, str(example.time or TIME)),
    ):
        text = re.sub(old, lambda _, new=new: new, text)  # type: ignore[misc]
    return text


def _absolute_link(match: re.Match[str], site: str, files: Mapping[str, str]) -> str:
    if match["code"]:
        return match["code"]
    text, path, anchor = match["text"], Path(match["path"]), match["anchor"] or ""
    if path.suffix == ".md" and path.stem in GUIDES:
        return f"[{text}]({site}/docs/{path.stem}.md{anchor})"
    return f"[{text}]({site}{files[path.name]})" if path.name in files else text


# ------------------------------------------------------------------------------------------ HTML

LABELS = {"sh": "curl", "js": "JavaScript", "python": "Python", "solidity": "Solidity"}
OUTPUT = "text"
DIRECTIVE_RE = re.compile(r"<!-- (fold|picture): (.+) -->")
# HTML in the Markdown is escaped.
_PARSER = MarkdownIt("commonmark", {"html": False, "typographer": True})
_PARSER.enable(["table", "smartquotes"])


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Guide:
    title: str
    body: SafeString  # without the title
    sections: tuple[Section, ...]


@lru_cache(64)
def render(markdown: str, site: str) -> Guide:
    """Convert the result of `localized_markdown`; links within the site become relative."""
    title, lead, *blocks = _blocks(_PARSER.parse(markdown))
    sections = tuple(_add_anchors(blocks))
    lead[0].attrSet("class", "lead")
    for block in (lead, *blocks):
        _make_links_relative(block, site)
    _link_sections_of_other_pages([lead, *blocks])
    _anchor_rows(blocks)
    _describe_tables(blocks)
    html = format_html_join("", "{}", ((part,) for part in _html_of_blocks([lead, *blocks])))
    return Guide(_plain_text(title[1]), html, sections)


@dataclass(frozen=True, slots=True)
class TextSection:
    """A section as plain text; a guide's lead has no anchor."""

    title: str
    anchor: str
    text: str
    is_row: bool = False  # of a table, with the name in its first cell as title


def text_sections(markdown: str) -> Iterator[TextSection]:
    """The sections of a guide, and the rows of its tables that have anchors.

    The first one is the guide's lead, with the guide's title.
    """
    blocks = _blocks(_PARSER.parse(markdown))
    title, anchor, texts = _plain_text(blocks[0][1]), "", list[str]()
    for _ in _add_anchors(blocks[1:]):
        pass
    _anchor_rows(blocks[1:])
    for block in blocks[1:]:
        yield from _text_rows(block)
        if block[0].type == "heading_open":
            yield TextSection(title, anchor, " ".join(texts))
            title, anchor, texts = _plain_text(block[1]), str(block[0].attrs["id"]), []
        else:
            texts += [
                _plain_text(token) if token.type == "inline" else " ".join(token.content.split())
                for token in block
                if token.content and not DIRECTIVE_RE.fullmatch(token.content)
            ]
    yield TextSection(title, anchor, " ".join(texts))


def _text_rows(block: Sequence[Token]) -> Iterator[TextSection]:
    for start, row in enumerate(block):
        if row.type == "tr_open" and "id" in row.attrs:
            end = next(i for i in range(start, len(block)) if block[i].type == "tr_close")
            name, *cells = (_plain_text(t) for t in block[start:end] if t.type == "inline")
            yield TextSection(name, str(row.attrs["id"]), " ".join(cells), is_row=True)


def _blocks(tokens: Sequence[Token]) -> list[list[Token]]:
    """Group tokens by top-level heading, paragraph, list, table or fence."""
    blocks: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        blocks[-1].append(token)
        depth += token.nesting
        if depth == 0:
            blocks.append([])
    return blocks[:-1]


def _plain_text(inline: Token) -> str:
    parts = inline.children or ()
    return "".join(" " if part.type == "softbreak" else part.content for part in parts)


def _add_anchors(blocks: Sequence[Sequence[Token]]) -> Iterator[Section]:
    """Give headings the anchors of code hosts; yields the sections of the second level."""
    counts: dict[str, int] = {}
    for opening, *rest in blocks:
        if opening.type == "heading_open":
            title = _plain_text(rest[0])
            anchor = heading_anchor(title)
            count = counts[anchor] = counts.get(anchor, -1) + 1
            anchor += f"-{count}" if count else ""
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                yield Section(title, anchor)


def heading_anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _make_links_relative(block: Sequence[Token], site: str) -> None:
    for inline in block:
        for token in inline.children or ():
            url = str(token.attrs.get("href", ""))
            if url.startswith(f"{site}/"):
                path = re.sub(r"^(/docs/[\w/-]+)\.md\b", r"\1", url.removeprefix(site))
                token.attrSet("href", path)


def _link_sections_of_other_pages(blocks: Sequence[Sequence[Token]]) -> None:
    """Links to sections of the API reference lead to the page that has them.

    The last link to each gets its anchor, so that `/docs/api#…` leads to it; tabs.js follows it.
    """
    pages = anchor_pages()
    anchors = {opening.attrs.get("id") for opening, *_ in blocks}
    links = [token for block in blocks for inline in block for token in inline.children or ()]
    for token in reversed(links):
        path, _, anchor = str(token.attrs.get("href", "")).partition("#")
        if path in {"", "/docs/api"} and anchor in pages:
            token.attrSet("href", f"/docs/{pages[anchor]}#{anchor}")
            if not path and anchor not in anchors:
                anchors.add(anchor)
                token.attrSet("id", anchor)


MAX_UNLABELLED_COLUMNS = 2  # a definition list needs no labels
# Rows get anchors in tables whose first column has one of these names.
ANCHORED_TABLES = {"code", "name"}


def _describe_tables(blocks: Sequence[Sequence[Token]]) -> None:
    """Add row headers, columns' names for narrow screens, and a class for columns of numbers.

    A class, because the Content-Security-Policy allows no inline style.
    """
    for tokens in blocks:
        names: list[str] = []
        column = 0
        for index, token in enumerate(tokens):
            if token.type == "table_open":
                token.attrSet("class", "wrapped")
            elif token.type == "tr_open":
                column = 0
            elif token.type in {"th_open", "td_open"}:
                text, end = tokens[index + 1], tokens[index + 2]
                _let_code_break(text)
                if token.attrs.pop("style", "") == "text-align:right":
                    token.attrSet("class", "number")
                if token.type == "th_open":
                    names.append(text.content)
                    token.attrSet("scope", "col")
                elif column == 0:
                    token.tag = end.tag = "th"
                    token.attrSet("scope", "row")
                elif len(names) > MAX_UNLABELLED_COLUMNS:
                    token.attrSet("data-name", names[column])
                column += 1


BREAKS_RE = re.compile(r"(?<=[./(,&=])(?=\w|&)|(?<=\w{28})(?=\w)")


def _let_code_break(cell: Token) -> None:
    """Allow line breaks in a cell's code.

    They come after punctuation, and in long words, such as addresses, from the 28th character on.
    """
    for token in cell.children or ():
        if token.type == "code_inline":
            parts = BREAKS_RE.split(token.content)
            token.type = "html_inline"
            html = format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in parts))
            token.content = format_html("<code>{}</code>", html)


def _anchor_rows(blocks: Sequence[Sequence[Token]]) -> None:
    """Give table rows the name in their first cell as anchor.

    If rows or headings share a name, only the first gets it.
    """
    anchors = {opening.attrs.get("id") for opening, *_ in blocks}
    for tokens in blocks:
        first_column = next((token.content for token in tokens if token.type == "inline"), "")
        if tokens[0].type == "table_open" and first_column in ANCHORED_TABLES:
            for row, cell, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
                name = re.fullmatch("`([a-z_]+)`", text.content)
                is_first_cell = row.type == "tr_open" and cell.type == "td_open"
                if is_first_cell and name and name[1] not in anchors:
                    anchors.add(name[1])
                    row.attrSet("id", name[1])


def _html_of_blocks(blocks: Sequence[Sequence[Token]]) -> Iterator[SafeString]:
    numbers = iter(range(1, 1_000))
    fold = ""
    for is_code, run in groupby(blocks, lambda block: block[0].info.split(" ")[0] in LABELS):
        group = list(run)
        labels = [_tab_label(block[0].info) for block in group] if is_code else []
        if len(set(labels)) == len(labels) > 1:
            yield _code_boxes([block[0] for block in group], labels, numbers)
            continue
        for block in group:
            directive = DIRECTIVE_RE.fullmatch(block[1].content) if len(block) > 1 else None
            if directive and directive[1] == "fold":
                fold = directive[2]
                continue
            if directive:
                yield render_to_string(f"parts/{directive[2]}_picture.html")
                continue
            block_html = _PARSER.renderer.render(block, _PARSER.options, {"numbers": numbers})
            html = mark_safe(block_html)  # noqa: S308  (the parser escapes HTML)
            if fold:
                details = '<details class="folded"><summary>{}</summary>{}</details>\n'
                html = format_html(details, fold, html)
                fold = ""
            yield html


def _render_fence(_renderer: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
    token = tokens[index]
    if token.info == OUTPUT:
        return format_html(
            '<pre class="sample" tabindex="0"><code>{}</code></pre>\n', _fence_html(token)
        )
    *_, environment = rest
    return _code_boxes([token], [""], environment["numbers"])


def _fence_html(token: Token) -> SafeString:
    return highlight(token.content.removesuffix("\n"), token.info.partition(" ")[0])


def _code_boxes(
    tokens: Sequence[Token], labels: Sequence[str], numbers: Iterator[int]
) -> SafeString:
    """Boxes of code; several of them as tabs."""
    codes = [
        {"id": f"code-{next(numbers)}", "label": label, "html": _fence_html(token)}
        for token, label in zip(tokens, labels, strict=True)
    ]
    group = f"tabs-{next(numbers)}" if len(codes) > 1 else ""
    return render_to_string("docs/code.html", {"codes": codes, "group": group})


def _tab_label(info: str) -> str:
    language, _, label = info.partition(" ")
    return label or LABELS[language]


_PARSER.add_render_rule("fence", _render_fence)
