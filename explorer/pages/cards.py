"""The pictures that link previews show of a batch or a fact."""

from typing import Any
from urllib.parse import urlsplit

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from accounts.http.site_address import site_address
from accounts.wording import DAY
from explorer.pages.card_picture import Card, draw_card
from explorer.pages.fact_kinds import decode_fact
from explorer.pages.facts import check_code, parse_path, requested_match
from explorer.pages.formatting import status_mark
from explorer.pages.links import PageLinks
from explorer.pages.sentences import batch_sentence, fact_sentence, only_fact
from queries.reading import FactView, batch_summaries, batch_view, find_fact
from queries.statuses import ENDED_STATUSES, BatchStatus

OPEN_SECONDS, ENDED_SECONDS = 30, DAY  # that caches keep a card


def batch_card(request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    batch = batch_view(batch_id)
    summary = batch_summaries([batch_id]).get(batch_id) if batch else None
    if batch is None or summary is None:
        raise Http404
    sentence = batch_sentence(summary, links)
    direction = "proven to" if batch.status == BatchStatus.DONE else "for"
    fact = only_fact(summary)
    card = Card(
        sentence.subject,
        sentence.block,
        _values(fact, links) if fact else (),
        status_mark(batch.status),
        batch.status,
        f"{direction} a contract on {links.chain_name(batch.destination)}",
        _host(request),
    )
    return _picture(card, ENDED_SECONDS if batch.status in ENDED_STATUSES else OPEN_SECONDS)


def fact_card(request: HttpRequest, links: PageLinks, **path: Any) -> HttpResponse:
    fact = requested_match(request, find_fact(parse_path(**path))).fact
    sentence, remark = fact_sentence(fact, links), f"to {links.chain_name(fact.destination)}"
    if registry := links.registry(fact.source, fact.destination):
        remark = f"{remark} · {registry.kind}: {registry.trust}"
    card = Card(
        sentence.subject,
        sentence.block,
        _values(fact, links),
        "proven",
        "proven",
        remark,
        _host(request),
        fact.block_hash,
        check_code(fact, registry.address) if registry else "",
    )
    return _picture(card, ENDED_SECONDS)


def _values(fact: FactView, links: PageLinks) -> tuple[str, ...]:
    value = decode_fact(fact, links.currency(fact.source))
    return () if value.is_title else (value.exact, value.short)


def _host(request: HttpRequest) -> str:
    return urlsplit(site_address(request)).netloc


def _picture(card: Card, cache_seconds: int) -> HttpResponse:
    response = HttpResponse(draw_card(card), content_type="image/png")
    patch_cache_control(response, public=True, max_age=cache_seconds)
    return response
