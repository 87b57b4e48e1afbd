"""The start page, and what it shows of the newest batches."""

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2s

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from explorer.pages.charts import charts_of
from explorer.pages.links import PageLinks
from explorer.templatetags.tacitus import MINUTE, in_words
from queries.reading.batches import ListedBatch
from queries.reading.batches import batches as listed_batches
from queries.reading.figures import figures

MOST = 10
ROUGHLY = 10  # seconds: a young batch's age is updated only so often


@dataclass(frozen=True, slots=True)
class Newest:
    """The batches, and what changes when anything of them does, their ages in words too."""

    batches: tuple[ListedBatch, ...]
    mark: str


def newest(now: datetime) -> Newest:
    batches = listed_batches(status="", destination=None, cursor=None, most=MOST).rows
    shown = [(each.id, each.status, each.queries, _age(now, each.submitted)) for each in batches]
    return Newest(batches, blake2s(repr(shown).encode(), digest_size=8).hexdigest())


def _age(now: datetime, moment: datetime) -> str:
    seconds = (now - moment).total_seconds()
    return str(seconds // ROUGHLY) if seconds < MINUTE else in_words(seconds)


def start(request: HttpRequest, links: PageLinks) -> HttpResponse:
    now = timezone.now()
    shown = figures(now.astimezone(UTC).date())
    context = {
        "links": links,
        "newest": newest(now),
        "figures": shown,
        "charts": () if shown.empty else charts_of(shown),
    }
    return render(request, "start.html", context)


def newest_changes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The newest batches again, or nothing where they are as they were `seen`."""
    shown = newest(timezone.now())
    if request.GET.get("seen") == shown.mark:
        return HttpResponse(status=204)
    return render(request, "parts/newest.html", {"newest": shown, "links": links})
