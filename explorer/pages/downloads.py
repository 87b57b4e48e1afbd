"""Facts as files, CSV or JSON, of a batch, an account, a block or a registry.

They are written while they are read, so that a large file takes no memory.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC

from django.http import Http404, HttpRequest, StreamingHttpResponse
from eth_utils.address import to_checksum_address

from explorer.pages.chain_objects import chain_of, registry_at
from explorer.pages.facts import fact_line
from explorer.pages.links import PageLinks
from explorer.pages.lists import BEFORE, cursor_of, numbers
from queries.reading import batches, chain_objects
from queries.reading import facts as portions
from queries.reading.facts import Portion, ProvenFact, facts_of_batch
from queries.reading.pagination import Cursor

COLUMNS = (
    "source_chain", "block", "block_hash", "account", "name", "field_or_slot", "word", "decoded",
    "registry", "destination_chain", "transaction", "proven_at",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula; the wide forms too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001


def csv_pieces(facts: Iterable[ProvenFact], links: PageLinks) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for fact in facts:
        yield writer.writerow(as_text(value) for value in _row(fact, links).values())


def json_pieces(facts: Iterable[ProvenFact], links: PageLinks) -> Iterator[str]:
    """An array, with an object for each fact under the names of the columns."""
    before = "[\n"
    for fact in facts:
        yield before + json.dumps(_row(fact, links), ensure_ascii=False)
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


def as_text(value: str) -> str:
    """Prefix an apostrophe if a spreadsheet would read a formula: users choose names."""
    return f"'{value}" if value.lstrip(" ").startswith(FORMULA) else value


def _row(proven: ProvenFact, links: PageLinks) -> Mapping[str, str]:
    fact = proven.fact
    values = (
        f"{fact.source}",
        f"{fact.block}",
        proven.block_hash,
        fact.account,
        fact.ens_name,
        fact.name,
        fact.word,
        fact_line(fact, links).decoded.exact,
        links.registry_address(fact.source, fact.destination),
        f"{fact.destination}",
        proven.transaction_hash,
        proven.proven.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )
    return dict(zip(COLUMNS, values, strict=True))


class _Echo:
    """What a csv writer writes to, and gets back."""

    def write(self, line: str) -> str:
        return line


MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
Pieces = Callable[[Iterable[ProvenFact], PageLinks], Iterator[str]]
WRITERS: dict[str, Pieces] = {"csv": csv_pieces, "json": json_pieces}


def batch_facts(
    _request: HttpRequest, batch_id: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    if batches.batch(batch_id) is None:
        raise Http404
    return facts_file(facts_of_batch(batch_id), links, form, f"tacitus-{batch_id}")


def account_facts(
    request: HttpRequest, address: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    """Of one chain: the one that is asked for, or the one that the account's page shows."""
    cursor, spelled = _cursor(request), to_checksum_address(address)
    chain = chain_of(request, chain_objects.account(spelled, links.sources))
    if chain is None:  # no batch asks for it
        return facts_file((), links, form, f"tacitus-{spelled}")
    portion = portions.of_account(spelled, chain, cursor)
    return _portion_file(request, portion, links, form, f"tacitus-{spelled}-on-{chain}")


def block_facts(
    request: HttpRequest, chain: int, number: int, form: str, links: PageLinks
) -> StreamingHttpResponse:
    portion = portions.of_block(chain, number, _cursor(request))
    return _portion_file(request, portion, links, form, f"tacitus-{chain}-block-{number}")


def registry_facts(
    request: HttpRequest, destination: int, address: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    found = registry_at(destination, address, links)
    portion = portions.of_registry(found.source, found.destination, _cursor(request))
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
    """The cursor from the previous portion's `Link`: that portion's last query."""
    return cursor_of(request, numbers(2), (BEFORE,))
