"""The start page: whether all works, chains and newest batches, live, and what proving costs."""

from collections.abc import Mapping
from hashlib import blake2s
from itertools import groupby

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone

from explorer.pages.charts import price_chart
from explorer.pages.deliveries import delivery_summaries
from explorer.pages.links import PageLinks
from explorer.pages.reach import ReachForm
from explorer.pages.sentences import batch_sentences
from explorer.pages.status import problems
from explorer.pages.wait_hints import remaining_texts
from queries.reading.batches import listed_batches
from queries.reading.figures import all_time_totals, duration_quantile, newest_proven_blocks
from queries.reading.service_status import chain_statuses

NEWEST_BATCHES, READ_BATCHES = 5, 25  # shown, of those that are read
POLL_SECONDS = 4


def start(request: HttpRequest, links: PageLinks) -> HttpResponse:
    today = timezone.now().date()
    totals, first_day = all_time_totals(today)
    context = {
        "newest": newest_batches(links),
        "states": chain_states(links),
        "poll_seconds": POLL_SECONDS,
        "form": ReachForm.read(QueryDict(), links),
        "totals": totals,
        "since": "today" if first_day == today else f"since {first_day.day} {first_day:%B %Y}",
        "usual_seconds": duration_quantile(today),
        "price_chart": price_chart(),
        "registries": list(links.routes.registries.values()),
    }
    return render(request, "start.html", context)


def newest_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    return _changes(request, "parts/newest.html", newest=newest_batches(links))


def chain_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    return _changes(request, "parts/chain_states.html", states=chain_states(links))


def _changes(request: HttpRequest, part: str, **content: Mapping[str, object]) -> HttpResponse:
    """A part of the page; status 204 if the digest `seen` has not changed."""
    if any(request.GET.get("seen") == values["digest"] for values in content.values()):
        return HttpResponse(status=204)
    return render(request, part, {"is_change": True, "poll_seconds": POLL_SECONDS, **content})


def newest_batches(links: PageLinks) -> Mapping[str, object]:
    """The newest batches, equal neighbours as one with their count.

    `digest` changes if a status, a sentence, a delivery, what is waited for or what is left of it
    does.
    """
    rows = listed_batches(limit=READ_BATCHES).rows
    sentences = batch_sentences([batch.id for batch in rows], links)
    neighbours = groupby(rows, lambda row: (row.status, row.destination, sentences.get(row.id)))
    folded = [list(group) for _, group in neighbours][:NEWEST_BATCHES]
    batches, counts = [group[0] for group in folded], {group[0].id: len(group) for group in folded}
    texts = remaining_texts(batches, links, timezone.now())
    deliveries = delivery_summaries(batches)
    digest = _digest(batches, counts, *map(str, sentences.values()), texts, deliveries)
    return {
        "batches": batches,
        "counts": counts,
        "sentences": sentences,
        "deliveries": deliveries,
        "remaining_texts": texts,
        "digest": digest,
    }


def chain_states(links: PageLinks) -> Mapping[str, object]:
    """The source chains and what does not work. `digest` changes if a block number does."""
    statuses = chain_statuses(list(links.routes.chains.values()))
    newest_proven = newest_proven_blocks(links.sources)
    sentences = problems(statuses)
    heads = {row.chain.id: row.head for row in statuses}
    chains = [
        (links.routes.chains[source], heads[source], newest_proven.get(source))
        for source in links.sources
    ]
    numbers = [(head and (head.number, head.final), newest) for _, head, newest in chains]
    return {"chains": chains, "problems": sentences, "digest": _digest(numbers, sentences)}


def _digest(*content: object) -> str:
    return blake2s(repr(content).encode(), digest_size=8).hexdigest()
