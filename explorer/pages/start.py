"""The start page, with the newest batches and the service's figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2s

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from explorer.pages.charts import figure_charts
from explorer.pages.formatting import MINUTE, age
from explorer.pages.links import PageLinks
from explorer.pages.sentences import Sentence, batch_sentences
from queries.reading.batches import ListedBatch, listed_batches
from queries.reading.figures import figures

NEWEST_BATCHES = 10
AGE_UPDATE_SECONDS = 10  # for batches younger than a minute


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
    digest = blake2s(repr(content).encode(), digest_size=8).hexdigest()
    return NewestBatches(batches, sentences, digest)


def _rough_age(now: datetime, moment: datetime) -> str:
    seconds = (now - moment).total_seconds()
    return str(seconds // AGE_UPDATE_SECONDS) if seconds < MINUTE else age(seconds)


def start(request: HttpRequest, links: PageLinks) -> HttpResponse:
    now = timezone.now()
    totals = figures(now.astimezone(UTC).date())
    context = {
        "links": links,
        "newest": newest_batches(now, links),
        "figures": totals,
        "charts": () if totals.is_empty else figure_charts(totals),
    }
    return render(request, "start.html", context)


def newest_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The newest batches; status 204 if the digest `seen` has not changed."""
    newest = newest_batches(timezone.now(), links)
    if request.GET.get("seen") == newest.digest:
        return HttpResponse(status=204)
    return render(request, "parts/newest.html", {"newest": newest, "links": links})
