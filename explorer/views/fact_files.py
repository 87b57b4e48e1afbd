"""Proven facts as files: of a batch whole, of an account, a block or a registry in portions.

A portion's `Link` header leads to the next one, as GitHub's and others' lists do.
"""

from collections.abc import Callable, Iterable, Iterator

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.fact_files import csv_pieces, json_pieces
from explorer.list_pages import BEFORE, numbers
from explorer.page_links import PageLinks
from explorer.views.accounts import chain_of
from queries.reading import accounts, batches, fact_portions
from queries.reading.fact_portions import Portion
from queries.reading.facts import ProvenFact, facts_of_batch
from queries.reading.slices import Cursor
from queries.reading.spellings import checksummed

MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
Pieces = Callable[[Iterable[ProvenFact], PageLinks], Iterator[str]]
WRITERS: dict[str, Pieces] = {"csv": csv_pieces, "json": json_pieces}


@require_safe
@never_cache
def batch_facts(
    request: HttpRequest,  # noqa: ARG001
    batch_id: str,
    form: str,
    links: PageLinks,
) -> StreamingHttpResponse:
    if batches.batch(batch_id) is None:
        raise Http404
    return facts_file(facts_of_batch(batch_id), links, form, f"tacitus-{batch_id}")


@require_safe
@never_cache
def account_facts(
    request: HttpRequest, address: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    """Of one chain: the one that is asked for, or the one that the account's page shows."""
    cursor, spelled = _cursor(request), checksummed(address)
    chain = chain_of(request, accounts.account(spelled, links.sources))
    if chain is None:  # nobody asked for it
        return facts_file((), links, form, f"tacitus-{spelled}")
    portion = fact_portions.of_account(spelled, chain, cursor)
    return _portion_file(request, portion, links, form, f"tacitus-{spelled}-on-{chain}")


@require_safe
@never_cache
def block_facts(
    request: HttpRequest, chain: int, number: int, form: str, links: PageLinks
) -> StreamingHttpResponse:
    portion = fact_portions.of_block(chain, number, _cursor(request))
    return _portion_file(request, portion, links, form, f"tacitus-{chain}-block-{number}")


@require_safe
@never_cache
def registry_facts(
    request: HttpRequest, destination: int, address: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    found = next(iter(links.registries_at(address, destination)), None)
    if found is None:
        raise Http404
    portion = fact_portions.of_registry(found.source, found.destination, _cursor(request))
    name = f"tacitus-{found.source}-to-{found.destination}"
    return _portion_file(request, portion, links, form, name)


def facts_file(
    facts: Iterable[ProvenFact], links: PageLinks, form: str, name: str
) -> StreamingHttpResponse:
    """`form`: csv or json."""
    answer = StreamingHttpResponse(WRITERS[form](facts, links), content_type=MEDIA_TYPES[form])
    answer["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return answer


def _portion_file(
    request: HttpRequest, portion: Portion, links: PageLinks, form: str, name: str
) -> StreamingHttpResponse:
    """A name of its own for each portion, so that no download takes another one's place."""
    before = request.GET.get(BEFORE, "")
    answer = facts_file(portion.facts, links, form, f"{name}-before-{before}" if before else name)
    if portion.older:
        asked = request.GET.copy()
        asked[BEFORE] = portion.older
        answer["Link"] = f'<{request.path}?{asked.urlencode()}>; rel="next"'
    return answer


def _cursor(request: HttpRequest) -> Cursor | None:
    """Of the query that the portion before ends with, as `Link` says it."""
    if BEFORE not in request.GET:
        return None
    key = numbers(2)(request.GET[BEFORE])
    if key is None:
        raise Http404
    return Cursor(key)
