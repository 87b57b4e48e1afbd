"""The guides as pages and as Markdown, and the files that they name."""

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from accounts.shared.site_address import site_address
from explorer.guides import render as guides
from explorer.guides.tables import tables_of
from queries.api.examples import route_example
from queries.config.registries import RegistryKind, artifact_of, router_artifact
from queries.config.routes import Routes
from queries.schema.batch_checks import BatchLimits

CONTRACTS = settings.BASE_DIR / "queries" / "contracts"
# What developers of contracts are given, by its name.
CONTRACT_FILES = {
    each.name: each
    for each in (
        *CONTRACTS.glob("interfaces/*.sol"),
        *CONTRACTS.glob("examples/*.sol"),
        *CONTRACTS.glob("build/*Registry.json"),
        CONTRACTS / "build" / "FactsRouter.json",
        CONTRACTS / "build" / "standard-input.json",
        CONTRACTS / "build" / "addresses.json",
    )
}
MONITORING = settings.BASE_DIR / "explorer" / "monitoring"
# What Grafana and Prometheus are given.
MONITORING_FILES = {name: MONITORING / name for name in ("dashboard.json", "alerts.yml")}
CLIENT_FILES = {"tacitus.py": settings.BASE_DIR / "queries" / "client" / "tacitus.py"}
SERVED = {
    **{name: f"/{name}" for name in CLIENT_FILES},
    **{name: f"/contracts/{name}" for name in CONTRACT_FILES},
    **{name: f"/docs/monitoring/{name}" for name in MONITORING_FILES},
}
MEDIA_TYPES = {".json": "application/json", ".py": "text/x-python; charset=utf-8"}
MARKDOWN = "text/markdown; charset=utf-8"


def guide_list(request: HttpRequest) -> HttpResponse:
    return _page(request, "docs/list.html", here="docs")


def guide(request: HttpRequest, name: str, routes: Routes, limits: BatchLimits) -> HttpResponse:
    text, site = _markdown(request, name, routes, limits), site_address(request)
    return _page(request, "docs/guide.html", here=name, guide=guides.rendered(text, site))


def guide_text(
    request: HttpRequest, name: str, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    return HttpResponse(_markdown(request, name, routes, limits), content_type=MARKDOWN)


def llms(request: HttpRequest) -> HttpResponse:
    """The guides for programs that read, as llmstxt.org has it."""
    context = {"site": site_address(request), "guides": guides.entries()}
    return render(request, "docs/llms.txt", context, content_type=MARKDOWN)


def _page(request: HttpRequest, template: str, **more: object) -> HttpResponse:
    return render(request, template, {"guides": guides.entries(), **more})


def _markdown(request: HttpRequest, name: str, routes: Routes, limits: BatchLimits) -> str:
    site = site_address(request)
    example = route_example(routes) if name in guides.FILLED_IN else None
    return guides.filled_in(name, site, example, tables_of(routes, limits, example), SERVED)


def named_file(_request: HttpRequest, name: str, files: Mapping[str, Path]) -> HttpResponse:
    if name not in files:
        raise Http404
    media_type = MEDIA_TYPES.get(files[name].suffix, "text/plain; charset=utf-8")
    return HttpResponse(files[name].read_bytes(), content_type=media_type)


def abi(_request: HttpRequest, name: str) -> HttpResponse:
    """The ABI of a kind of registry, or of the router."""
    if name != "router" and name not in set(RegistryKind):
        raise Http404
    contract = router_artifact() if name == "router" else artifact_of(RegistryKind(name))
    return JsonResponse(contract.abi, safe=False)
