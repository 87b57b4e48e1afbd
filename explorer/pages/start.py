"""The start page: whether all works, chains and newest batches, live, and what proving costs."""

from collections.abc import Mapping
from itertools import islice

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from explorer.pages.batch_rows import BatchList, fold_equal, read_batch_list
from explorer.pages.charts import price_chart
from explorer.pages.links import PageLinks
from explorer.pages.lists import top_parameter
from explorer.pages.live import Live, content_digest
from explorer.pages.reach import ReachForm
from explorer.pages.status import problems
from queries.reading import (
    BatchFilter,
    all_time_totals,
    chain_changes,
    chain_statuses,
    duration_quantile,
    minute_of,
    newest_proven_blocks,
    read_late_batches,
)

NEWEST_BATCHES, READ_BATCHES = 5, 25  # shown, of those that are read


def start(request: HttpRequest, links: PageLinks) -> HttpResponse:
    context = {
        **_totals_context(),
        **_newest_context(links, read_batch_list(links, BatchFilter(), limit=READ_BATCHES)),
        **_chains_context(links, _chains_digest(links)),
        "form": ReachForm.read(QueryDict(), links),
        "price_chart": price_chart(),
        "registries": list(links.routes.registries.values()),
    }
    return render(request, "start.html", context)


def newest_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    top = top_parameter(request)
    batches = read_batch_list(links, BatchFilter(), top=top, limit=READ_BATCHES)
    if request.GET.get("seen") == batches.digest:
        return HttpResponse(status=204)
    context = {**_newest_context(links, batches), **_totals_context(), "is_change": True}
    return render(request, "parts/newest.html", context)


def chain_state_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    digest = _chains_digest(links)
    if request.GET.get("seen") == digest:
        return HttpResponse(status=204)
    context = {**_chains_context(links, digest), "is_change": True}
    return render(request, "parts/chain_states.html", context)


def _totals_context() -> Mapping[str, object]:
    today = timezone.now().date()
    totals, first_day = all_time_totals(today)
    return {
        "totals": totals,
        "since": "today" if first_day == today else f"since {first_day.day} {first_day:%B %Y}",
        "usual_seconds": duration_quantile(today),
    }


def _newest_context(links: PageLinks, batches: BatchList) -> Mapping[str, object]:
    """The newest batches, equal neighbours as one with their count."""
    rows = list(islice(fold_equal(batches.rows(links)), NEWEST_BATCHES))
    live = Live(batches.digest, reverse("newest"), "live-newest")
    return {**batches.context(links), "rows": rows, "live_newest": live}


def _chains_digest(links: PageLinks) -> str:
    return content_digest(
        minute_of(timezone.now()),
        chain_changes(links.routes.chains),
        newest_proven_blocks(links.sources),
    )


def _chains_context(links: PageLinks, digest: str) -> Mapping[str, object]:
    """The source chains with their newest proven blocks, and what does not work."""
    statuses = chain_statuses(list(links.routes.chains.values()))
    newest_proven = newest_proven_blocks(links.sources)
    heads = {row.chain.id: row.head for row in statuses}
    return {
        "chains": [
            (links.routes.chains[source], heads[source], newest_proven.get(source))
            for source in links.sources
        ],
        "problems": problems(statuses, read_late_batches()),
        "live_chains": Live(digest, reverse("chain-changes"), "live-chains"),
    }
