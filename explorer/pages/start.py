"""The start page: chains and newest batches, both live, and what proving costs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import blake2s

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from explorer.pages.charts import bound_text, facts_chart, price_chart
from explorer.pages.formatting import MINUTE, KeyFigure, age, intcomma, quantity
from explorer.pages.links import PageLinks
from explorer.pages.sentences import Sentence, batch_sentences
from explorer.pages.trust import trust
from queries.config.routes import Chain
from queries.reading.batches import ListedBatch, listed_batches
from queries.reading.figures import (
    Figures,
    HeadView,
    chain_heads,
    duration_bound,
    figures,
    newest_proven_blocks,
)

NEWEST_BATCHES = 5
AGE_UPDATE_SECONDS = 10  # for batches younger than a minute


def _digest(content: object) -> str:
    return blake2s(repr(content).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class NewestBatches:
    """`digest` changes if a status, a sentence or the text of an age does."""

    batches: tuple[ListedBatch, ...]
    sentences: Mapping[str, Sentence]
    digest: str


def newest_batches(now: datetime, links: PageLinks) -> NewestBatches:
    batches = listed_batches(status="", destination=None, cursor=None, limit=NEWEST_BATCHES).rows
    sentences = batch_sentences([batch.id for batch in batches], links)
    content = [
        (batch.id, batch.status, sentences.get(batch.id), _rough_age(now, batch.submitted_at))
        for batch in batches
    ]
    return NewestBatches(batches, sentences, _digest(content))


def _rough_age(now: datetime, moment: datetime) -> str:
    seconds = (now - moment).total_seconds()
    return str(seconds // AGE_UPDATE_SECONDS) if seconds < MINUTE else age(seconds)


@dataclass(frozen=True, slots=True)
class ChainState:
    chain: Chain
    head: HeadView | None
    proven: int | None  # the newest block with proven facts


@dataclass(frozen=True, slots=True)
class ChainStates:
    """The chains that are a source. `digest` changes if a block number does."""

    chains: tuple[ChainState, ...]
    digest: str


def chain_states(links: PageLinks) -> ChainStates:
    heads, proven = chain_heads(links.sources), newest_proven_blocks(links.sources)
    states = tuple(
        ChainState(links.routes.chains[source], heads.get(source), proven.get(source))
        for source in links.sources
    )
    numbers = [
        (state.head and (state.head.number, state.head.final), state.proven) for state in states
    ]
    return ChainStates(states, _digest(numbers))


def start(request: HttpRequest, links: PageLinks) -> HttpResponse:
    now = timezone.now()
    today = now.astimezone(UTC).date()
    totals = figures(today)
    return render(
        request,
        "start.html",
        {
            "links": links,
            "newest": newest_batches(now, links),
            "states": chain_states(links),
            "summary": results_summary(totals, today),
            "figures": _key_figures(totals, today),
            "facts_chart": facts_chart(totals.days) if totals.has_week else None,
            "price_chart": price_chart(),
            "trusts": [
                (registry, trust(registry, links)) for registry in links.routes.registries.values()
            ],
        },
    )


def results_summary(totals: Figures, today: date) -> str:
    """The results in a sentence; empty before the first."""
    if totals.is_empty:
        return ""
    half = _half_within(totals)
    quickness = f", {half} of submission" if half else ""
    facts = quantity(totals.total.facts, "fact")
    return f"This server has proven {facts} {_since(totals, today)}{quickness}."


def _since(totals: Figures, today: date) -> str:
    first = totals.first_day
    return "today" if first == today else f"since {first.day} {first:%B %Y}"


def _half_within(totals: Figures) -> str:
    half = duration_bound(totals.durations, 0.5)
    return f"half of the batches within {bound_text(half)}" if half else ""


def _key_figures(totals: Figures, today: date) -> Collection[KeyFigure]:
    total = totals.total
    if totals.is_empty:
        return ()
    shown = [
        KeyFigure(intcomma(total.facts), "facts", _since(totals, today)),
        KeyFigure(intcomma(total.done), "batches DONE", _half_within(totals)),
        KeyFigure(intcomma(total.rejected), "batches REJECTED"),
    ]
    if total.gas_per_fact is not None:
        gas = intcomma(total.gas_per_fact)
        shown.append(KeyFigure(gas, "gas a fact", "on this server; mainnet below"))
    return shown


def newest_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The newest batches; status 204 if the digest `seen` has not changed."""
    newest = newest_batches(timezone.now(), links)
    if request.GET.get("seen") == newest.digest:
        return HttpResponse(status=204)
    return render(request, "parts/newest.html", {"newest": newest, "links": links})


def chain_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The heads of chains; status 204 if the digest `seen` has not changed."""
    states = chain_states(links)
    if request.GET.get("seen") == states.digest:
        return HttpResponse(status=204)
    return render(request, "parts/chain_states.html", {"states": states, "links": links})
