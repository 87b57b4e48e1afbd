"""The guides, which are Markdown files, and the files for monitoring."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from accounts.site_address import site_address
from explorer.advice import ADVICE, OTHERWISE
from explorer.links import PageLinks
from queries import limits
from queries.registries import RegistryKind, artifact_of, proves_its_code

# HTML within the Markdown is shown as text.
_PARSER = MarkdownIt("commonmark", {"html": False, "typographer": True})
_PARSER.enable(["table", "smartquotes"])


@dataclass(frozen=True, slots=True)
class Guide:
    title: str  # its first heading
    body: SafeString  # what follows, as HTML


def read_guide(markdown: str) -> Guide:
    tokens = _PARSER.parse(markdown)
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


CONTRACTS = settings.BASE_DIR / "queries" / "contracts"
CONTRACT = CONTRACTS / "examples" / "SnapshotVote.sol"
# What developers of contracts are given, by its name.
CONTRACT_FILES = {
    each.name: each
    for each in (
        *CONTRACTS.glob("interfaces/*.sol"),
        *CONTRACTS.glob("examples/*.sol"),
        CONTRACTS / "build" / "standard-input.json",
        CONTRACTS / "build" / "addresses.json",
    )
}
# The guides in Markdown: file, and what search engines show of the page.
GUIDES = {
    "contracts": (
        settings.BASE_DIR / "explorer" / "docs" / "contracts.md",
        "Read proven facts in Solidity, or verify a proof in your own transaction.",
    ),
    "configuration": (
        settings.BASE_DIR / "explorer" / "docs" / "configuration.md",
        "Every setting of Tacitus, the routes file, registries and signers.",
    ),
    "contributing": (
        settings.BASE_DIR / "explorer" / "docs" / "contributing.md",
        "How to test, measure and change Tacitus.",
    ),
    "security": (
        settings.BASE_DIR / "SECURITY.md",
        "Whom Tacitus trusts with what, how to report a vulnerability, and what limits an attack.",
    ),
}
MONITORING = settings.BASE_DIR / "explorer" / "monitoring"
MONITORING_FILES = {"dashboard.json": "application/json", "alerts.yml": "application/yaml"}
AN_ADDRESS = "https://tacitus.example.org"  # in guides, in place of this server's own
# What the operators' page and a test of it begin with.
ROUTES = """\
[chains.11155111]
name = "Sepolia"
nodes = ["https://sepolia.example.org/v2/YOUR-KEY", "https://another.example.org"]
finality = "finalized"
dearest_gas_gwei = 50
most_a_day = 0.05
explorer = "https://sepolia.etherscan.io"
"""


@require_safe
def first_fact(request: HttpRequest) -> HttpResponse:
    context = {
        "site_url": site_address(request),
        "contract": CONTRACT.read_text().strip(),
        "advice": ADVICE.items(),
        "otherwise": OTHERWISE,
    }
    return render(request, "docs/first_fact.html", context)


@require_safe
def operating(request: HttpRequest) -> HttpResponse:
    context = {"routes": ROUTES.strip(), "limits": limits.described()}
    return render(request, "docs/operating.html", context)


@require_safe
def guide(request: HttpRequest, name: str) -> HttpResponse:
    return _guide(request, name)


def _guide(request: HttpRequest, name: str, **more: object) -> HttpResponse:
    file, description = GUIDES[name]
    text = file.read_text().replace(AN_ADDRESS, site_address(request))
    context = {"guide": read_guide(text), "here": name, "description": description, **more}
    return render(request, "docs/guide.html", context)


@require_safe
def contracts(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The guide, and this server's registries."""
    there = [(each, proves_its_code(each)) for each in links.routes.registries.values()]
    return _guide(request, "contracts", registries=there, links=links)


@require_safe
def contract_file(_request: HttpRequest, name: str) -> HttpResponse:
    if name not in CONTRACT_FILES:
        raise Http404
    kind = "application/json" if name.endswith(".json") else "text/plain; charset=utf-8"
    return HttpResponse(CONTRACT_FILES[name].read_bytes(), content_type=kind)


@require_safe
def abi(_request: HttpRequest, name: str) -> HttpResponse:
    """A kind of registry's."""
    if name not in set(RegistryKind):
        raise Http404
    return JsonResponse(artifact_of(RegistryKind(name)).abi, safe=False)


@require_safe
def monitoring(_request: HttpRequest, name: str) -> HttpResponse:
    """What Grafana and Prometheus are given."""
    return HttpResponse((MONITORING / name).read_bytes(), content_type=MONITORING_FILES[name])
