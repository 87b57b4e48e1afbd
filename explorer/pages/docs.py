"""The guides as pages and as Markdown, and the files that they link to."""

import gzip
import json
import tarfile
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from accounts.http.site_address import site_address
from explorer.guides import render as guides
from explorer.guides.search import MAX_HITS, MAX_TEXT, search_guides
from explorer.guides.tables import guide_tables
from queries.api.examples import route_example
from queries.client.join import joined_client
from queries.contracts.abi import load_artifact
from queries.schema.batch_checks import BatchLimits
from queries.sources import KINDS, Routes, registry_artifact


def _package_files(folder: Path) -> list[Path]:
    """The files that an npm package lists."""
    patterns = json.loads((folder / "package.json").read_text())["files"]
    return [path for pattern in patterns for path in folder.glob(pattern)]


CONTRACTS = settings.BASE_DIR / "queries" / "contracts"
CONTRACT_FILES = {path.name: path for path in _package_files(CONTRACTS)}
OTHER_ABIS = {"router": "FactsRouter", "lookup": "FactsLookup"}
MONITORING = settings.BASE_DIR / "explorer" / "monitoring"
MONITORING_FILES = {name: MONITORING / name for name in ("dashboard.json", "alerts.yml")}
RECIPE_FILES = {path.name: path for path in (guides.FOLDER / "recipes").glob("*.toml")}
CLIENT = settings.BASE_DIR / "queries" / "client"
CLIENT_FILES = {
    "tacitus.mjs": CLIENT / "typescript" / "tacitus.mjs",
    "tacitus.d.ts": CLIENT / "typescript" / "tacitus.d.ts",
}
NPM_PACKAGES = {"tacitus.tgz": CLIENT / "typescript", "contracts/tacitus-contracts.tgz": CONTRACTS}
SERVED_FILES = {
    "tacitus.py": "/tacitus.py",
    **{name: f"/{name}" for name in CLIENT_FILES},
    **{name: f"/contracts/{name}" for name in CONTRACT_FILES},
    **{name: f"/docs/monitoring/{name}" for name in MONITORING_FILES},
    **{name: f"/docs/recipes/{name}" for name in RECIPE_FILES},
}
MEDIA_TYPES = {
    ".json": "application/json",
    ".toml": "text/plain; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".ts": "application/typescript; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
}
SECTIONS = {"api-endpoints"}  # pages of the reference have them, and Markdown for programs
MARKDOWN_TYPE = "text/markdown; charset=utf-8"


def guide_list(request: HttpRequest, routes: Routes, limits: BatchLimits) -> HttpResponse:
    """All guides, or the sections that have the words in `q`."""
    # Without invisible characters and those that change the direction of text
    text = "".join(filter(str.isprintable, request.GET.get("q", ""))).strip()
    is_too_long = len(text) > MAX_TEXT
    texts = _searched_guides(request, routes, limits) if text and not is_too_long else {}
    return _docs_page(
        request,
        "docs/list.html",
        here="docs",
        docs_text=text,
        hits=search_guides(text, texts),
        max_hits=MAX_HITS,
        max_text=MAX_TEXT,
        is_too_long=is_too_long,
    )


def _searched_guides(
    request: HttpRequest, routes: Routes, limits: BatchLimits
) -> Mapping[str, str]:
    """The Markdown of all pages with the demo's values, so that it does not change."""
    site = site_address(request)
    tables = guide_tables(routes, limits, site, None) | _without(SECTIONS)
    return {
        name: guides.localized_markdown(name, site, None, tables, SERVED_FILES)
        for name in guides.PAGES
    }


def guide(request: HttpRequest, name: str, routes: Routes, limits: BatchLimits) -> HttpResponse:
    site = site_address(request)
    text = _guide_markdown(request, name, routes, limits, left_out=SECTIONS)
    return _docs_page(
        request,
        "docs/guide.html",
        here=name.partition("/")[0],
        page=guides.page_entry(name),
        guide=guides.render(text, site),
    )


def guide_text(
    request: HttpRequest, name: str, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    return HttpResponse(_guide_markdown(request, name, routes, limits), content_type=MARKDOWN_TYPE)


def llms(request: HttpRequest) -> HttpResponse:
    """The list of guides for language models (llmstxt.org)."""
    context = {"site": site_address(request), "groups": guides.grouped_entries().items()}
    return render(request, "docs/llms.txt", context, content_type=MARKDOWN_TYPE)


def _docs_page(request: HttpRequest, template: str, **context: object) -> HttpResponse:
    groups = guides.grouped_entries().items()
    return render(request, template, {"groups": groups, "site": site_address(request), **context})


def _guide_markdown(
    request: HttpRequest,
    name: str,
    routes: Routes,
    limits: BatchLimits,
    *,
    left_out: Collection[str] = (),
) -> str:
    """The guide's Markdown, without the tables that are left out."""
    site = site_address(request)
    example = route_example(routes) if name in guides.LOCALIZED_GUIDES else None
    tables = guide_tables(routes, limits, site, example) | _without(left_out)
    return guides.localized_markdown(name, site, example, tables, SERVED_FILES)


def _without(tables: Iterable[str]) -> dict[str, Callable[[], str]]:
    return dict.fromkeys(tables, str)


def download(_request: HttpRequest, name: str, files: Mapping[str, Path]) -> HttpResponse:
    if name not in files:
        raise Http404
    media_type = MEDIA_TYPES.get(files[name].suffix, "text/plain; charset=utf-8")
    return HttpResponse(files[name].read_bytes(), content_type=media_type)


def python_client(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(joined_client(), content_type=MEDIA_TYPES[".py"])


def npm_package(_request: HttpRequest, folder: Path) -> HttpResponse:
    return HttpResponse(_npm_package(folder), content_type="application/gzip")


@cache
def _npm_package(folder: Path) -> bytes:
    """The files that `npm pack` takes, as an archive of always the same bytes."""
    fixed_files = (folder / name for name in ("LICENSE", "README.md", "package.json"))
    archive_file = BytesIO()
    with tarfile.open(fileobj=archive_file, mode="w") as archive:
        for path in sorted({*_package_files(folder), *fixed_files}):
            member = tarfile.TarInfo(f"package/{path.relative_to(folder)}")
            member.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(member, file)
    return gzip.compress(archive_file.getvalue(), mtime=0)


def abi(_request: HttpRequest, name: str) -> HttpResponse:
    """The ABI of a kind of registry, of the router or of the lookup."""
    if name in OTHER_ABIS:
        contract = load_artifact(OTHER_ABIS[name])
    elif name in KINDS:
        contract = registry_artifact(name)
    else:
        raise Http404
    return JsonResponse(contract.abi, safe=False)
