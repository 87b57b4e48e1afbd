"""The pages of routes and registries, and whether a block can be proven on a route."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from accounts.wording import format_count, format_duration
from explorer.pages.charts import route_gas_chart
from explorer.pages.facts import check_wait_seconds
from explorer.pages.links import PageLinks
from explorer.pages.lists import cursor_of, number_parser
from explorer.pages.live import LivePage, content_digest, render_live
from explorer.pages.reach import ReachForm
from explorer.wiring import compare_l1
from queries import reading
from queries.config.beacon_chains import BEACON_EXPLORERS
from queries.proving import SYNC_COMMITTEE_SIZE
from queries.reading import (
    HeadView,
    RegistryState,
    RouteFigures,
    chain_changes,
    minute_of,
    read_chain_heads,
    read_committee,
    read_registry_states,
    registry_changes,
    route_figures,
    state_horizon,
)
from queries.sources import (
    AttestedRegistry,
    BeaconRegistry,
    OptimismRegistry,
    Registry,
    format_time,
    has_derived_address,
    lookup_address,
)

NEWEST_BLOCKS = 10  # on a registry's first page
BLOCKS_PER_PAGE = 50


def routes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    chains, registries, now = links.routes.chains, links.routes.registries, timezone.now()

    def context() -> dict[str, object]:
        heads = read_chain_heads(chains)
        figures = route_figures(registries.keys(), now.date())
        states = {
            state.registry.address: state for state in read_registry_states(registries.values())
        }
        return {
            "chains": [(chain, heads.get(id_)) for id_, chain in sorted(chains.items())],
            "cards": [
                _route_context(registry, heads, figures[route], states.get(registry.address))
                for route, registry in registries.items()
            ],
            "form": ReachForm.read(request.GET, links),
        }

    digest = content_digest(minute_of(now), chain_changes(chains))
    return render_live(request, LivePage("routes.html", "parts/route_tables.html", digest), context)


def _route_context(
    registry: Registry,
    heads: Mapping[int, HeadView],
    figures: RouteFigures,
    awake: RegistryState | None,
) -> dict[str, object]:
    """The registry's trust, its reach into the past, and the cost of its facts."""
    horizon = state_horizon(registry, heads)
    gas_id = f"gas-{registry.source}-{registry.destination}"
    return {
        "registry": registry,
        "has_derived_address": has_derived_address(registry),
        "head": heads.get(registry.source),
        "accounts_until": format_time(horizon) if horizon < registry.horizon else "",
        "lookup": lookup_address(registry) if registry.lookup_urls else "",
        "figures": figures,
        "awake": awake,  # of a beacon registry
        "gas_chart": route_gas_chart(gas_id, figures.days) if figures.days else None,
    }


def _l1_comparison(request: HttpRequest, registry: Registry, links: PageLinks) -> str:
    """Compare the destination's L1 with the source's node, if the visitor has clicked that."""
    if not isinstance(registry, OptimismRegistry) or "compare" not in request.GET:
        return ""
    if seconds := check_wait_seconds(request):
        return f"Too many checks. Compare again in {format_count(seconds, 'second')}."
    return compare_l1(registry, links.routes)


def _checkpoint_link(registry: BeaconRegistry) -> str:
    """The checkpoint's page in an explorer of its beacon chain; empty if none is known."""
    site = BEACON_EXPLORERS.get(registry.source)
    return f"{site}/slot/0x{registry.checkpoint.hex()}" if site else ""


def registry_or_404(destination: int, address: str, links: PageLinks) -> Registry:
    for registry in links.registries_at(address):
        if registry.destination == destination:
            return registry
    raise Http404


def _details(registry: Registry, heads: Mapping[int, HeadView]) -> dict[str, object]:
    """What the templates of some kinds of registries show."""
    match registry:
        case AttestedRegistry():
            return {"until": format_time(registry.valid_until)}
        case BeaconRegistry():
            return {
                "max_age": format_duration(registry.max_age),
                "committee": read_committee(registry, heads.get(registry.source)),
                "beacon_link": _checkpoint_link(registry),
                "period": format_duration(registry.period_seconds),
                "members": SYNC_COMMITTEE_SIZE,
            }
        case _:
            return {}


def registry(
    request: HttpRequest, destination: int, address: str, links: PageLinks
) -> HttpResponse:
    registry = registry_or_404(destination, address, links)
    if request.path.rpartition("/")[2] != registry.address:
        return redirect("registry", destination, registry.address)
    route = registry.source, registry.destination
    cursor = cursor_of(request, number_parser(1))
    limit = BLOCKS_PER_PAGE if cursor else NEWEST_BLOCKS
    digest = content_digest(registry_changes(*route, limit))

    def context() -> dict[str, object]:
        heads = read_chain_heads(route)
        figures = route_figures([route], timezone.now().date())[route]
        awake = next(iter(read_registry_states([registry])), None)
        return {
            **_route_context(registry, heads, figures, awake),
            "l1_comparison": _l1_comparison(request, registry, links),
            **_details(registry, heads),
            "horizon": format_time(registry.horizon),
            "block_count": reading.route_block_count(*route),
            "max_count": reading.MAX_COUNTED_BLOCKS,
            "destination_head": heads.get(registry.destination),
            "blocks": reading.blocks_of_registry(*route, cursor, limit),
            "max_queries": reading.MAX_COUNTED_QUERIES,
        }

    return render_live(
        request, LivePage("registry.html", "parts/registry_changes.html", digest), context
    )
