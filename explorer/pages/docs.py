"""The guides as pages and as Markdown, and the files that they name."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.site_address import site_address
from explorer import guides
from explorer.guide_tables import tables_of
from explorer.guides import Example
from queries.reading.figures import heads_of
from queries.registries import RegistryKind, artifact_of, router_artifact
from queries.routes import Routes
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
MONITORING_FILES = {"dashboard.json": "application/json", "alerts.yml": "text/plain; charset=utf-8"}
SERVED = {
    "tacitus.py": "/tacitus.py",
    **{name: f"/contracts/{name}" for name in CONTRACT_FILES},
    **{name: f"/docs/monitoring/{name}" for name in MONITORING_FILES},
}
MARKDOWN = "text/markdown; charset=utf-8"


@require_safe
def guide_list(request: HttpRequest) -> HttpResponse:
    return _page(request, "docs/list.html", here="docs")


@require_safe
def guide(request: HttpRequest, name: str, routes: Routes, limits: BatchLimits) -> HttpResponse:
    text, site = _markdown(request, name, routes, limits), site_address(request)
    return _page(request, "docs/guide.html", here=name, guide=guides.rendered(text, site))


@require_safe
def guide_text(
    request: HttpRequest, name: str, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    return HttpResponse(_markdown(request, name, routes, limits), content_type=MARKDOWN)


@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """The guides for programs that read, as llmstxt.org has it."""
    context = {"site": site_address(request), "guides": guides.entries()}
    return render(request, "docs/llms.txt", context, content_type=MARKDOWN)


def _page(request: HttpRequest, template: str, **more: object) -> HttpResponse:
    return render(request, template, {"guides": guides.entries(), **more})


def _markdown(request: HttpRequest, name: str, routes: Routes, limits: BatchLimits) -> str:
    site = site_address(request)
    example = _example(routes) if name in guides.FILLED_IN else None
    return guides.filled_in(name, site, example, tables_of(routes, limits), SERVED)


ENOUGH_GAS = 500_000  # for one account, and a hop if need be
EVERY = 50  # blocks: a guide with the same block is not rendered again


def _example(routes: Routes) -> Example | None:
    """Of a chain's own past, if the server proves that of any. None: it has no route."""
    ways = sorted(routes.registries, key=lambda way: way[0] != way[1])
    if not ways:
        return None
    source, destination = ways[0]
    payer = routes.chains[destination]
    return Example(
        source,
        destination,
        name=routes.chains[source].name,
        registry=routes.registries[ways[0]].address,
        node=settings.DEMO_WALLET_NODE or f"https://your-node-of-chain-{destination}.example",
        fee=0 if payer.free else ENOUGH_GAS * payer.dearest_gas,
        block=_recent_block(source, destination, routes),
    )


def _recent_block(source: int, destination: int, routes: Routes) -> int | None:
    head = heads_of([source]).get(source)
    if head is None:
        return None
    own_past = head.number - routes.chains[source].native_finality
    final = own_past if source == destination else head.final
    return final - final % EVERY if final > EVERY else final


@require_safe
def contract_file(_request: HttpRequest, name: str) -> HttpResponse:
    if name not in CONTRACT_FILES:
        raise Http404
    kind = "application/json" if name.endswith(".json") else "text/plain; charset=utf-8"
    return HttpResponse(CONTRACT_FILES[name].read_bytes(), content_type=kind)


@require_safe
def abi(_request: HttpRequest, name: str) -> HttpResponse:
    """The ABI of a kind of registry, or of the router."""
    if name != "router" and name not in set(RegistryKind):
        raise Http404
    contract = router_artifact() if name == "router" else artifact_of(RegistryKind(name))
    return JsonResponse(contract.abi, safe=False)


@require_safe
def monitoring(_request: HttpRequest, name: str) -> HttpResponse:
    """What Grafana and Prometheus are given."""
    return HttpResponse((MONITORING / name).read_bytes(), content_type=MONITORING_FILES[name])
