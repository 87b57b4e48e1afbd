"""The pages of blocks, accounts, our transactions, registries and routes."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from accounts.shared.wording import format_count
from explorer.pages.charts import balance_chart
from explorer.pages.facts import check_wait_seconds
from explorer.pages.links import PageLinks
from explorer.pages.lists import adjacent_pages, chain_parameter, cursor_of, number_parser
from explorer.pages.trust import trust
from explorer.wiring import compare_l1
from queries.config.registries import Registry, RegistryKind, format_time, proves_its_code
from queries.proving.registry_calls import HISTORY_RING
from queries.reading import chain_objects as reading
from queries.reading.figures import HeadView, chain_heads, state_horizon

ROWS_PER_PAGE = 50


def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block without queries has a page too, if its chain is configured."""
    block = reading.block_view(chain, number)
    queries = reading.queries_of_block(
        chain, number, cursor_of(request, number_parser(1)), ROWS_PER_PAGE
    )
    if not queries.rows and not block.registries and chain not in links.routes.chains:
        raise Http404
    return render(
        request,
        "block.html",
        {
            "links": links,
            "block_view": block,
            "queries": queries,
            "adjacent": adjacent_pages(request, queries),
        },
    )


FACTS_PER_PAGE = 25
MAX_INLINE_ROWS = 50  # a longer table of a chart is fetched when it is opened


def account(request: HttpRequest, address: str, links: PageLinks) -> HttpResponse:
    """An address without queries has a page too."""
    checksum_address = to_checksum_address(address)
    if request.path.rpartition("/")[2] != checksum_address:
        query = request.GET.urlencode()
        return redirect(
            reverse("account", args=[checksum_address]) + (f"?{query}" if query else "")
        )
    account = reading.account_view(checksum_address, links.sources)
    chain = selected_chain(request, account)
    if chain is None:
        return render(request, "account.html", {"links": links, "account": account})
    chart = balance_chart(reading.account_balances(checksum_address, chain))
    table_open = "table" in request.GET
    if table_open and chart and request.headers.get("HX-Request"):
        return render(request, "parts/figure_table.html", {"chart": chart})
    facts = reading.account_queries(
        checksum_address, chain, cursor_of(request, number_parser(2)), FACTS_PER_PAGE
    )
    fetch_table = chart and len(chart.rows) > MAX_INLINE_ROWS and not table_open
    return render(
        request,
        "account.html",
        {
            "links": links,
            "account": account,
            "chain": chain,
            "chains": sorted({chain, *account.chains}),
            "facts": facts,
            "adjacent": adjacent_pages(request, facts),
            "chart": chart,
            "table_open": table_open,
            "table_url": f"?chain={chain}&table=whole" if fetch_table else "",
        },
    )


def selected_chain(request: HttpRequest, account: reading.AccountView) -> int | None:
    """The chain in the URL, or the last one requested, or one with facts; None without batches."""
    chain = chain_parameter(request, "chain")
    if chain is not None:
        return chain
    if account.newest in account.chains or not account.chains:
        return account.newest
    return account.chains[0]


def transaction(request: HttpRequest, chain: int, digits: str, links: PageLinks) -> HttpResponse:
    transaction = reading.transaction_view(chain, f"0x{digits}")
    if transaction is None:
        raise Http404
    cursor = cursor_of(request, number_parser(1))
    queries = reading.queries_of_transaction(transaction, cursor, ROWS_PER_PAGE)
    return render(
        request,
        "transaction.html",
        {
            "links": links,
            "requested_hash": f"0x{digits}",
            "transaction": transaction,
            "queries": queries,
            "adjacent": adjacent_pages(request, queries),
        },
    )


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


def _format_for_route(sentence: str, registry: Registry, links: PageLinks) -> str:
    source, destination = map(links.chain_name, (registry.source, registry.destination))
    return sentence.format(source=source, destination=destination)


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


def reach_text(registry: Registry, links: PageLinks, source_head: HeadView | None) -> str:
    """How far back the contract and this service's nodes can prove blocks."""
    window = proof_window_text(source_head)
    nodes = f"The nodes of this service prove {window}."
    if window == NOT_MEASURED:
        nodes = f"The reach of this service's nodes is {window}."
    return f"{_format_for_route(REACH[registry.kind], registry, links)} {OLDER_BLOCKS} {nodes}"


def lowered_horizon_text(registry: Registry, heads: Mapping[int, HeadView]) -> str:
    """The time up to which accounts can be proven, if it is before the registry's horizon."""
    horizon = state_horizon(registry, heads)
    return format_time(horizon) if horizon < registry.horizon else ""


def routes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    chains = links.routes.chains
    heads = chain_heads(chains)
    facts = reading.facts_by_route()
    registries = [
        (
            registry,
            trust(registry, links),
            facts.get((registry.source, registry.destination), 0),
            proves_its_code(registry),
            lowered_horizon_text(registry, heads),
        )
        for registry in links.routes.registries.values()
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
            "registries": registries,
        },
    )


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
    heads = chain_heads([registry.source, registry.destination])
    blocks = reading.blocks_of_registry(
        registry.source, registry.destination, cursor_of(request, number_parser(1)), ROWS_PER_PAGE
    )
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
            "reach": reach_text(registry, links, heads.get(registry.source)),
            "totals": reading.route_totals(registry.source, registry.destination),
            "source_head": heads.get(registry.source),
            "destination_head": heads.get(registry.destination),
            "blocks": blocks,
            "adjacent": adjacent_pages(request, blocks),
        },
    )
