"""The guides: Markdown files that code hosts show as they are and a server fills in.

How to write one:

- A guide is `explorer/docs/NAME.md` (`security` is SECURITY.md), and NAME is in GUIDES, in the
  order of the navigation. It begins with a heading and one paragraph: what the reader will have at
  the end. /docs, /llms.txt and search engines show the first sentence of that paragraph.
- Consecutive fenced blocks become tabs: curl (`sh`), JavaScript (`js`), Python (`python`), Solidity
  (`solidity`). What stands behind the language is the tab's label instead: ```sh cast. Inside a
  list there are no tabs. Blocks have a copy button, except those of `text`: what a program prints.
- `<!-- table: NAME -->` on a line of its own becomes the Markdown that guide_tables.py makes of the
  code. The lines right below it, to the next empty one, are for code hosts alone.
- `<!-- picture: NAME -->` becomes the picture of templates/parts/NAME_picture.html.
- `<!-- fold: TITLE -->` folds the table, list or block that follows.
- A link to another guide is a relative one: `api.md#errors`. A link to a page of the server begins
  with the demo's address: `http://127.0.0.1:8000/explorer/routes`. Other files of the repository
  are links on code hosts; on a server those that it serves are links too, and the rest is text.
- The guides in FILLED_IN show commands that users of this server copy. In them the demo's values
  stand for the server's own: `http://127.0.0.1:8000` for its address, 31337 for a chain (for the
  destination where `--to` or `destination…` stands before it), "Demo A" for that chain's name, the
  native registry's address for the route's registry, `http://127.0.0.1:8545` for a node of the
  destination, `fee` 0 for a fee that is enough, and in code the number 17 for a recent final block.
- Headings are linked as code hosts do it. In a table whose first column is called `code` or `name`,
  a row that begins with a name in code is linked as #name.
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

from queries.api.examples import RouteExample
from queries.config.registries import Registry, RegistryKind, address_of

GUIDES = (
    "first-fact",
    "contracts",
    "api",
    "webhooks",
    "proofs",
    "how-it-works",
    "running",
    "operating",
    "public-networks",
    "configuration",
    "security",
    "contributing",
    "glossary",
    "faq",
)
FILLED_IN = {"first-fact", "contracts", "api", "webhooks", "proofs"}
FOLDER = settings.BASE_DIR / "explorer" / "docs"


def file_of(name: str) -> Path:
    return settings.BASE_DIR / "SECURITY.md" if name == "security" else FOLDER / f"{name}.md"


@dataclass(frozen=True, slots=True)
class Entry:
    """A guide in lists of all guides."""

    name: str
    title: str
    promise: str  # the first sentence below the title


APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


@cache
def entries() -> tuple[Entry, ...]:
    return tuple(_entry(name) for name in GUIDES)


def _entry(name: str) -> Entry:
    title, lead, *_ = file_of(name).read_text().split("\n\n", 2)
    lead = LINK.sub(lambda found: found["shown"] or found["code"].strip("`"), lead)
    sentence = " ".join(lead.split()).replace("'", APOSTROPHE).partition(". ")[0].rstrip(".")
    return Entry(name, title.removeprefix("# "), f"{sentence}.")


# ------------------------------------------------------------------------- filled in, as Markdown

DEMO_SITE, DEMO_NODE = "http://127.0.0.1:8000", "http://127.0.0.1:8545"
DEMO_CHAIN, DEMO_NAME, DEMO_BLOCK = 31337, "Demo A", 17
DEMO_REGISTRY = address_of(Registry(RegistryKind.NATIVE, DEMO_CHAIN, DEMO_CHAIN))

_A_CODE = r"(?P<code>^(?P<fence>```+).*?^(?P=fence)|`[^`\n]+`)"
_A_LINK = r"\[(?P<shown>[^\[\]]+)\]\((?!https?:|/)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
CODE = re.compile(_A_CODE, re.DOTALL | re.MULTILINE)
LINK = re.compile(f"{_A_LINK}|{_A_CODE}", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"^<!-- table: ([\w-]+) -->$(\n.+)*", re.MULTILINE)


def filled_in(
    name: str,
    site: str,
    example: RouteExample | None,
    tables: Mapping[str, Callable[[], str]],
    files: Mapping[str, str],
) -> str:
    """The guide's Markdown as this server serves it, with absolute links.

    `files`: the addresses of repository files that it serves, by their names.
    """
    text = file_of(name).read_text()
    if name in FILLED_IN and example:
        text = _with_example(text, example)
    text = PLACE.sub(lambda place: tables[place[1]](), text)
    text = LINK.sub(partial(_link, site=site, files=files), text)
    old = DEMO_SITE if name in FILLED_IN else f"]({DEMO_SITE}"
    return text.replace(old, old.replace(DEMO_SITE, site))


def _with_example(text: str, example: RouteExample) -> str:
    def in_code(code: re.Match[str]) -> str:
        if example.block is None:
            return code[0]
        return re.sub(rf"(?<![\w.]){DEMO_BLOCK}(?![\w.])", str(example.block), code[0])

    text = CODE.sub(in_code, text)
    to = rf"((?:--to|destination\w*)[\"']?[ :=]+[\"']?){DEMO_CHAIN}\b"
    text = re.sub(to, rf"\g<1>{example.destination.id}", text, flags=re.IGNORECASE)
    text = re.sub(r"(\bfee[\"']?[:=]? ?[\"']?)0\b", rf"\g<1>{example.fee}", text)
    for old, new in (
        (rf"\b{DEMO_CHAIN}\b", str(example.source.id)),
        (DEMO_NAME, example.source.name),
        (DEMO_REGISTRY, example.registry),
        (re.escape(DEMO_NODE), example.node),
    ):
        text = re.sub(old, lambda _, new=new: new, text)  # type: ignore[misc]
    return text


def _link(found: re.Match[str], site: str, files: Mapping[str, str]) -> str:
    if found["code"]:
        return found["code"]
    shown, path, anchor = found["shown"], Path(found["path"]), found["anchor"] or ""
    name = "security" if path.name == "SECURITY.md" else path.stem
    if path.suffix == ".md" and name in GUIDES:
        return f"[{shown}]({site}/docs/{name}.md{anchor})"
    return f"[{shown}]({site}{files[path.name]})" if path.name in files else shown


# ------------------------------------------------------------------------------ rendered, as HTML

LABELS = {"sh": "curl", "js": "JavaScript", "python": "Python", "solidity": "Solidity"}
OUTPUT = "text"
MARK = re.compile(r"<!-- (fold|picture): (.+) -->")
# HTML within the Markdown is shown as text.
_PARSER = MarkdownIt("commonmark", {"html": False, "typographer": True})
_PARSER.enable(["table", "smartquotes"])


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Guide:
    title: str
    body: SafeString  # what follows it
    sections: tuple[Section, ...]


@lru_cache(64)
def rendered(markdown: str, site: str) -> Guide:
    """`markdown`: as `filled_in` returns it. Links within the site become relative."""
    title, lead, *blocks = _blocks(_PARSER.parse(markdown))
    sections = tuple(_anchored(blocks))
    lead[0].attrSet("class", "lead")
    for block in (lead, *blocks):
        _make_links_relative(block, site)
    _anchor_rows(blocks)
    _describe_tables(blocks)
    html = mark_safe("".join(_written([lead, *blocks])))  # noqa: S308  (our own file; html is off)
    return Guide(_plain(title[1]), html, sections)


def _blocks(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each heading, paragraph, list, table or fence at the top level."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        found[-1].append(token)
        depth += token.nesting
        if depth == 0:
            found.append([])
    return found[:-1]


def _plain(inline: Token) -> str:
    parts = inline.children or ()
    return "".join(" " if each.type == "softbreak" else each.content for each in parts)


def _anchored(blocks: Sequence[Sequence[Token]]) -> Iterator[Section]:
    """Gives each heading its anchor, as code hosts make it; yields those of the second level."""
    taken: dict[str, int] = {}
    for tag, *rest in blocks:
        if tag.type == "heading_open":
            title = _plain(rest[0])
            anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            count = taken[anchor] = taken.get(anchor, -1) + 1
            anchor += f"-{count}" if count else ""
            tag.attrSet("id", anchor)
            if tag.tag == "h2":
                yield Section(title, anchor)


def _make_links_relative(block: Sequence[Token], site: str) -> None:
    for inline in block:
        for token in inline.children or ():
            address = str(token.attrs.get("href", ""))
            if address.startswith(f"{site}/"):
                guide = re.sub(r"^(/docs/[\w-]+)\.md\b", r"\1", address.removeprefix(site))
                token.attrSet("href", guide)


PAIR = 2  # columns, where the second one says what the first one names
LINKED = {"code", "name"}  # what a first column is called whose rows are linked


def _describe_tables(blocks: Sequence[Sequence[Token]]) -> None:
    """A row begins with its heading. Narrow screens show the columns' names in the other cells.
    A column of numbers has a class, because the policy allows no inline style.
    """
    for tokens in blocks:
        names: list[str] = []
        column = 0
        for place, token in enumerate(tokens):
            if token.type == "table_open":
                token.attrSet("class", "wrapped")
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
                elif len(names) > PAIR:
                    token.attrSet("data-name", names[column])
                column += 1


def _anchor_rows(blocks: Sequence[Sequence[Token]]) -> None:
    """Where two rows, or a row and a heading, have one name, the first one has the anchor."""
    taken = {tag.attrs.get("id") for tag, *_ in blocks}
    for tokens in blocks:
        first_column = next((each.content for each in tokens if each.type == "inline"), "")
        if tokens[0].type == "table_open" and first_column in LINKED:
            for row, cell, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
                name = re.fullmatch("`([a-z_]+)`", text.content)
                is_first = row.type == "tr_open" and cell.type == "td_open"
                if is_first and name and name[1] not in taken:
                    taken.add(name[1])
                    row.attrSet("id", name[1])


def _written(blocks: Sequence[Sequence[Token]]) -> Iterator[str]:
    codes = iter(range(1, 1_000))
    fold = ""
    for is_code, run in groupby(blocks, lambda block: block[0].info.split(" ")[0] in LABELS):
        group = list(run)
        labels = [_label(block[0].info) for block in group] if is_code else []
        if len(set(labels)) == len(labels) > 1:
            yield _tabs([block[0] for block in group], labels, codes)
            continue
        for block in group:
            mark = MARK.fullmatch(block[1].content) if len(block) > 1 else None
            if mark and mark[1] == "fold":
                fold = mark[2]
                continue
            if mark:
                yield render_to_string(f"parts/{mark[2]}_picture.html")
                continue
            html = _PARSER.renderer.render(block, _PARSER.options, {"codes": codes})
            if fold:
                folded = '<details class="folded"><summary>{}</summary>{}</details>\n'
                html = format_html(folded, fold, mark_safe(html))  # noqa: S308  (as above)
                fold = ""
            yield html


COPY = (
    '<button type="button" class="button plain copy" data-copy="#{}" hidden>'
    '<span class="label">Copy</span><span class="unseen"> {}</span></button>'
)


def _code(_renderer: RendererHTML, tokens: Sequence[Token], place: int, *rest: Any) -> str:
    token = tokens[place]
    if token.info == OUTPUT:
        return format_html('<pre class="sample" tabindex="0"><code>{}</code></pre>\n', _text(token))
    *_, environment = rest
    box = _code_box(token, "the code", environment["codes"])
    return format_html('<div class="code-box">{}</div>\n', box)


def _code_box(token: Token, what: str, codes: Iterator[int]) -> SafeString:
    anchor = f"code-{next(codes)}"
    pre = format_html('<pre tabindex="0"><code id="{}">{}</code></pre>', anchor, _text(token))
    return pre + format_html(COPY, anchor, what)


def _text(token: Token) -> str:
    return token.content.removesuffix("\n")


def _tabs(tokens: Sequence[Token], labels: Sequence[str], codes: Iterator[int]) -> str:
    """Radio buttons, which need no script; with one, a choice holds for the whole site."""
    group = f"tabs-{next(codes)}"
    heads = format_html_join(
        "\n",
        '<input type="radio" name="{}" id="{}-{}" data-tab="{}"{}><label for="{}-{}">{}</label>',
        (
            (group, group, n, label, mark_safe("" if n else " checked"), group, n, label)  # noqa: S308
            for n, label in enumerate(labels)
        ),
    )
    panes = format_html_join(
        "\n",
        '<div class="pane code-box">{}</div>',
        (
            (_code_box(token, f"the {label} code", codes),)
            for token, label in zip(tokens, labels, strict=True)
        ),
    )
    return format_html(
        '<fieldset class="tabs"><legend class="unseen">The code in</legend>\n{}\n{}</fieldset>\n',
        heads,
        panes,
    )


def _label(info: str) -> str:
    language, _, label = info.partition(" ")
    return label or LABELS[language]


_PARSER.add_render_rule("fence", _code)
