"""The pages of routes and registries, and whether a block can be proven on a route."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from accounts.shared.wording import format_count
from explorer.pages.charts import Chart, route_gas_chart
from explorer.pages.facts import check_wait_seconds
from explorer.pages.formatting import KeyFigure, format_wei, intcomma, precise_duration
from explorer.pages.links import PageLinks
from explorer.pages.lists import adjacent_pages, cursor_of, number_parser
from explorer.pages.reach import ReachForm
from explorer.pages.trust import Trust, trust
from explorer.wiring import compare_l1
from queries.config.registries import Registry, RegistryKind, format_time, proves_its_code
from queries.proving.registry_calls import HISTORY_RING
from queries.reading import chain_objects as reading
from queries.reading.figures import (
    HeadView,
    RouteFigures,
    chain_heads,
    route_figures,
    state_horizon,
)
from queries.reading.route_record import RouteRecord, route_records

NEWEST_BLOCKS = 10  # on a registry's first page
BLOCKS_PER_PAGE = 50

REACH = {  # of the contract
    RegistryKind.NATIVE: f"The last {HISTORY_RING:,} blocks at any time.",
    RegistryKind.OPTIMISM: "Blocks of {source} whose hash was recorded while it was the newest.",
    RegistryKind.OUTPUT: (
        "Blocks that a dispute game covers, once it is won and its delay has passed: about a week "
        "later."
    ),
    RegistryKind.ATTESTED: "Blocks that the signers have signed for.",
}
OLDER_BLOCKS = "Older ones are reached by hops, as far back as the chain has EIP-2935."
NOT_MEASURED = "not measured yet"


def proof_window_text(head: HeadView | None) -> str:
    if head is None or head.window is None:
        return NOT_MEASURED
    if head.window < 0:
        return "no block"
    if head.window < HISTORY_RING:
        return f"the last {format_count(head.window, 'block')}"
    is_young = head.number <= HISTORY_RING
    return "all blocks" if is_young else f"the last {HISTORY_RING:,} blocks or more"


def contract_reach_text(registry: Registry, links: PageLinks) -> str:
    """How far back the contract can prove blocks."""
    sentence = REACH[registry.kind].format(source=links.chain_name(registry.source))
    return f"{sentence} {OLDER_BLOCKS}"


def node_reach_text(source_head: HeadView | None) -> str:
    """How far back this service's nodes can prove blocks."""
    window = proof_window_text(source_head)
    if window == NOT_MEASURED:
        return f"The reach of this service's nodes is {window}."
    return f"The nodes of this service prove {window}."


def lowered_horizon_text(registry: Registry, heads: Mapping[int, HeadView]) -> str:
    """The time up to which accounts can be proven, if it is before the registry's horizon."""
    horizon = state_horizon(registry, heads)
    return format_time(horizon) if horizon < registry.horizon else ""


@dataclass(frozen=True, slots=True)
class RouteCard:
    registry: Registry
    trust: Trust
    proves_its_code: bool
    accounts_until: str  # empty unless the horizon was lowered
    figures: list[KeyFigure]
    gas_chart: Chart | None  # None before there is a week of figures

    @property
    def copy_source(self) -> str:
        """Selects the address on the page."""
        return f"#address-{self.registry.source}-{self.registry.destination}"


def _key_figures(
    results: RouteFigures, record: RouteRecord | None, currency: str
) -> list[KeyFigure]:
    """Empty before the first fact."""
    facts = results.total.facts
    if not facts:
        return []
    figures = [KeyFigure(intcomma(facts), "fact proven" if facts == 1 else "facts proven")]
    price = ""
    if record:
        if record.wei_per_fact:
            price = f"{format_wei(record.wei_per_fact, currency)} lately"
        duration = precise_duration(record.median_duration.total_seconds())
        figures.append(KeyFigure(duration, "median time to DONE"))
    if (gas := results.total.gas_per_fact) is not None and results.total.gas:
        figures.append(KeyFigure(intcomma(gas), "gas a fact", price))
    return figures


def _today() -> date:
    return timezone.now().astimezone(UTC).date()


def routes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    chains, registries = links.routes.chains, links.routes.registries
    heads = chain_heads(chains)
    figures = route_figures(registries.keys(), _today())
    records = {
        chain: route_records(chain) for chain in {destination for _, destination in registries}
    }
    cards = [
        RouteCard(
            registry,
            trust(registry, links),
            proves_its_code(registry),
            lowered_horizon_text(registry, heads),
            _key_figures(
                figures[route],
                records[registry.destination].get(registry.source),
                links.currency(registry.destination),
            ),
            _gas_chart(registry, figures[route]),
        )
        for route, registry in registries.items()
    ]
    return render(
        request,
        "routes.html",
        {
            "links": links,
            "chains": [
                (chain, heads.get(chain.id), proof_window_text(heads.get(chain.id)))
                for _, chain in sorted(chains.items())
            ],
            "cards": cards,
            "form": ReachForm.read(request.GET, links),
        },
    )


def _gas_chart(registry: Registry, figures: RouteFigures) -> Chart | None:
    if not figures.has_week:
        return None
    return route_gas_chart(f"gas-{registry.source}-{registry.destination}", figures.days)


def _l1_comparison(request: HttpRequest, registry: Registry, links: PageLinks) -> str:
    """Compare the destination's L1 with the source's node, if the visitor has clicked that."""
    if registry.kind is not RegistryKind.OPTIMISM or "compare" not in request.GET:
        return ""
    if seconds := check_wait_seconds(request):
        return f"Too many checks. Compare again in {format_count(seconds, 'second')}."
    return compare_l1(registry, links.routes)


def registry_or_404(destination: int, address: str, links: PageLinks) -> Registry:
    for registry in links.registries_at(address):
        if registry.destination == destination:
            return registry
    raise Http404


def registry(
    request: HttpRequest, destination: int, address: str, links: PageLinks
) -> HttpResponse:
    registry = registry_or_404(destination, address, links)
    if request.path.rpartition("/")[2] != registry.address:
        return redirect("registry", destination, registry.address)
    route = registry.source, registry.destination
    heads = chain_heads(route)
    head = heads.get(registry.source)
    cursor = cursor_of(request, number_parser(1))
    limit = BLOCKS_PER_PAGE if cursor else NEWEST_BLOCKS
    blocks = reading.blocks_of_registry(*route, cursor, limit)
    results = route_figures([route], _today())[route]
    record = route_records(destination).get(registry.source)
    figures = _key_figures(results, record, links.currency(destination))
    figures += _count_figures(reading.route_block_count(*route), head)
    return render(
        request,
        "registry.html",
        {
            "links": links,
            "registry": registry,
            "proves_its_code": proves_its_code(registry),
            "l1_comparison": _l1_comparison(request, registry, links),
            "until": format_time(registry.valid_until) if registry.signers else "",
            "trust": trust(registry, links),
            "horizon": format_time(registry.horizon),
            "accounts_until": lowered_horizon_text(registry, heads),
            "contract_reach": contract_reach_text(registry, links),
            "node_reach": node_reach_text(head),
            "facts": results.total.facts,
            "figures": figures,
            "gas_chart": _gas_chart(registry, results),
            "source_head": head,
            "destination_head": heads.get(registry.destination),
            "blocks": blocks,
            "adjacent": adjacent_pages(request, blocks),
            "max_queries": reading.MAX_QUERIES,
        },
    )


def _count_figures(blocks: reading.BlockCount, head: HeadView | None) -> list[KeyFigure]:
    figures = []
    if blocks.count:
        more = "+" if blocks.is_more else ""
        label = "block with facts" if blocks.count == 1 else "blocks with facts"
        figures.append(KeyFigure(f"{blocks.count:,}{more}", label))
    if head is not None and head.window is not None and head.window >= 0:
        reach = min(head.window, head.number)
        more = "+" if reach >= HISTORY_RING else ""
        figures.append(KeyFigure(f"{reach:,}{more}", "blocks back", "that our nodes can prove now"))
    return figures
