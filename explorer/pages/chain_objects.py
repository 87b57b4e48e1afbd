"""The pages of what is on a chain: blocks, accounts, transactions of ours, registries, routes."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from accounts.shared.wording import counted
from explorer.pages.charts import balance_chart
from explorer.pages.facts import too_often
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_asked, cursor_of, numbers, ways
from explorer.wiring import compare_l1
from queries.config.registries import Registry, RegistryKind, proves_its_code, time_text
from queries.reading import chain_objects as reading
from queries.reading.figures import HeadView, heads_of, state_horizon

ROWS = 50


def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block without queries has a page if its chain is configured: it offers to ask."""
    shown = reading.block(chain, number)
    queries = reading.queries_of_block(chain, number, cursor_of(request, numbers(1)), ROWS)
    if not queries.rows and not shown.registries and chain not in links.routes.chains:
        raise Http404
    return render(
        request,
        "block.html",
        {"links": links, "shown": shown, "queries": queries, "ways": ways(request, queries)},
    )


FACTS = 25  # of an account, at once
LINES = 50  # of the chart's table that come with the page; more of them come when they are wanted
TABLE = "table"


def account(request: HttpRequest, address: str, links: PageLinks) -> HttpResponse:
    """An address without queries has a page too: it offers to ask."""
    spelled = to_checksum_address(address)
    if request.path.rpartition("/")[2] != spelled:
        query = request.GET.urlencode()
        return redirect(reverse("account", args=[spelled]) + (f"?{query}" if query else ""))
    shown = reading.account(spelled, links.sources)
    chain = chain_of(request, shown)
    if chain is None:
        return render(request, "account.html", {"links": links, "shown": shown})
    chart = balance_chart(reading.balances_of(spelled, chain))
    asked = TABLE in request.GET
    if asked and chart and request.headers.get("HX-Request"):
        return render(request, "parts/figure_table.html", {"chart": chart})
    facts = reading.facts_of(spelled, chain, cursor_of(request, numbers(2)), FACTS)
    later = chart and len(chart.rows) > LINES and not asked
    return render(
        request,
        "account.html",
        {
            "links": links,
            "shown": shown,
            "chain": chain,
            "chains": sorted({chain, *shown.chains}),
            "facts": facts,
            "ways": ways(request, facts),
            "chart": chart,
            "table_open": asked,
            "table_at": f"?chain={chain}&{TABLE}=whole" if later else "",
        },
    )


def chain_of(request: HttpRequest, shown: reading.AccountView) -> int | None:
    """The chain named in the URL; else the chain last asked for, unless facts exist only on others.
    None: no batch asked for this account.
    """
    chain = chain_asked(request, "chain")
    if chain is not None:
        return chain
    if shown.newest in shown.chains or not shown.chains:
        return shown.newest
    return shown.chains[0]


def transaction(request: HttpRequest, chain: int, digits: str, links: PageLinks) -> HttpResponse:
    shown = reading.transaction(chain, f"0x{digits}")
    if shown is None:
        raise Http404
    cursor = cursor_of(request, numbers(1))
    queries = reading.queries_of_transaction(shown, cursor, ROWS)
    return render(
        request,
        "transaction.html",
        {
            "links": links,
            "asked_hash": f"0x{digits}",
            "shown": shown,
            "queries": queries,
            "ways": ways(request, queries),
        },
    )


EIP_2935_WINDOW = 8_191


TRUST = {  # beside the chains themselves
    RegistryKind.NATIVE: "Nobody: the contract takes block hashes from {destination} itself.",
    RegistryKind.OPTIMISM: (
        "{destination} alone: its own L1Block contract gives the registry the hash of the newest "
        "L1 block."
    ),
    RegistryKind.OUTPUT: (
        "What withdrawals from {source} rest on: its dispute games, its guardian, and those who "
        "may upgrade its contracts."
    ),
}
REACH = {  # by the contract
    RegistryKind.NATIVE: f"The last {EIP_2935_WINDOW:,} blocks at any time.",
    RegistryKind.OPTIMISM: "Blocks of {source} whose hash was recorded while it was the newest.",
    RegistryKind.OUTPUT: (
        "Blocks that a dispute game covers, once it is won and its delay has passed: about a week "
        "later."
    ),
    RegistryKind.ATTESTED: "Blocks that the signers have signed for.",
}
CHAINED = "Older ones are reached by hops, as far back as the chain has EIP-2935."


def trust_of(registry: Registry, links: PageLinks) -> str:
    """Who must be trusted."""
    signers = len(registry.signers)
    if registry.kind in TRUST:
        return _of_route(TRUST[registry.kind], registry, links)
    if signers == 1:
        return "One signer: the registry accepts any block hash that it signs."
    return (
        f"{registry.threshold} of {signers} signers: the registry accepts a block hash that this "
        "many have signed. Fewer cannot forge one."
    )


def _of_route(form: str, registry: Registry, links: PageLinks) -> str:
    source, destination = map(links.chain_name, (registry.source, registry.destination))
    return form.format(source=source, destination=destination)


NOT_MEASURED = "not measured yet"


def window_of(head: HeadView | None) -> str:
    """Of which blocks a chain's nodes prove accounts."""
    window = None if head is None else head.window
    if window is None:
        return NOT_MEASURED
    if window < 0:
        return "no block"
    return f"the last {counted(window, 'block')}{' or more' if window >= EIP_2935_WINDOW else ''}"


def reach_of(registry: Registry, links: PageLinks, source_head: HeadView | None) -> str:
    """How far back blocks can be proven: by the contract, and by this service's nodes."""
    window = window_of(source_head)
    by_nodes = f"The nodes of this service prove {window}."
    if window == NOT_MEASURED:
        by_nodes = f"The reach of this service's nodes is {window}."
    return f"{_of_route(REACH[registry.kind], registry, links)} {CHAINED} {by_nodes}"


def lowered_horizon(registry: Registry, heads: Mapping[int, HeadView]) -> str:
    """From which time on accounts are not proven, if that is before the registry's horizon."""
    lowered = state_horizon(registry, heads)
    return time_text(lowered) if lowered < registry.horizon else ""


def routes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    chains = links.routes.chains
    heads = heads_of(chains)
    facts = reading.facts_by_route()
    registries = [
        (
            each,
            trust_of(each, links),
            facts.get((each.source, each.destination), 0),
            proves_its_code(each),
            lowered_horizon(each, heads),
        )
        for each in links.routes.registries.values()
    ]
    return render(
        request,
        "routes.html",
        {
            "links": links,
            "chains": [
                (chain, heads.get(chain.id), window_of(heads.get(chain.id)))
                for _, chain in sorted(chains.items())
            ],
            "registries": registries,
        },
    )


def _compared(request: HttpRequest, registry: Registry, links: PageLinks) -> str:
    """What a node of the source says of the L1 block that the destination sees; if it is asked."""
    if registry.kind is not RegistryKind.OPTIMISM or "compare" not in request.GET:
        return ""
    if seconds := too_often(request):
        return f"Too many checks. Compare again in {counted(seconds, 'second')}."
    return compare_l1(registry, links.routes)


def registry_at(destination: int, address: str, links: PageLinks) -> Registry:
    for each in links.registries_at(address):
        if each.destination == destination:
            return each
    raise Http404


def registry(
    request: HttpRequest, destination: int, address: str, links: PageLinks
) -> HttpResponse:
    found = registry_at(destination, address, links)
    if request.path.rpartition("/")[2] != found.address:
        return redirect("registry", destination, found.address)
    heads = heads_of([found.source, found.destination])
    shown = reading.blocks_of_registry(
        found.source, found.destination, cursor_of(request, numbers(1)), ROWS
    )
    return render(
        request,
        "registry.html",
        {
            "links": links,
            "registry": found,
            "proves_its_code": proves_its_code(found),
            "compared": _compared(request, found, links),
            "until": time_text(found.valid_until) if found.signers else "",
            "trust": trust_of(found, links),
            "horizon": time_text(found.horizon),
            "lowered": lowered_horizon(found, heads),
            "reach": reach_of(found, links, heads.get(found.source)),
            "record": reading.record_of(found.source, found.destination),
            "source_head": heads.get(found.source),
            "destination_head": heads.get(found.destination),
            "blocks": shown,
            "ways": ways(request, shown),
        },
    )
