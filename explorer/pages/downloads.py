"""CSV and JSON files of the facts of a batch, an account, a block or a registry, and of a feed's
values; and a CSV file of a batch's deliveries.

Rows are streamed, so large files take no memory.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from eth_utils.address import to_checksum_address

from accounts.wallets import short_hash
from accounts.wording import datetime_from_unix
from explorer.pages.chain_objects import selected_chain
from explorer.pages.fact_kinds import decode_fact
from explorer.pages.feed_values import is_number
from explorer.pages.links import PageLinks
from explorer.pages.lists import OLDER_PARAMETER, cursor_of, number_parser, parse_ulid
from explorer.pages.registries import registry_or_404
from explorer.pages.sentences import batch_sentences, block_name
from queries import reading
from queries.ids import is_ulid
from queries.reading import Cursor, FactView, FeedValue, Page, read_batch_facts, read_deliveries

COLUMNS = (
    "source_chain", "block", "block_hash", "account", "name", "field_or_slot", "word", "decoded",
    "registry", "destination_chain", "transaction", "proven_at",
)  # fmt: skip
# A spreadsheet reads a cell that begins with one of these as a formula.
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # also the full-width forms


FileRow = Mapping[str, object]  # by column; a file of CSV has no `details`


def csv_chunks(rows: Iterable[FileRow], columns: Sequence[str]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow(escape_formula(f"{row[column]}") for column in columns)


def json_chunks(rows: Iterable[FileRow], _columns: Sequence[str]) -> Iterator[str]:
    """An array of objects with the columns' names as keys, and the details of events."""
    separator = "[\n"
    for row in rows:
        yield separator + json.dumps(row, ensure_ascii=False)
        separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[]\n"


def escape_formula(value: str) -> str:
    """Prefix an apostrophe to formulas, because users choose names."""
    return f"'{value}" if value.lstrip(" ").startswith(FORMULA_STARTS) else value


def _row(fact: FactView, links: PageLinks) -> FileRow:
    values = (
        f"{fact.source}",
        f"{fact.block}",
        fact.block_hash,
        fact.account,
        fact.ens_name,
        f"{fact.name}:{fact.identity.key}" if fact.is_time else fact.name,
        fact.word,
        decode_fact(fact, links.currency(fact.source)).exact,
        links.registry_address(fact.source, fact.destination),
        f"{fact.destination}",
        fact.transaction_hash,
        _time_text(fact.proven_at),
    )
    details = {"details": fact.details} if fact.details else {}
    return {**dict(zip(COLUMNS, values, strict=True)), **details}


def _time_text(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else ""


class _Echo:
    """Makes `csv.writer.writerow` return the line."""

    def write(self, line: str) -> str:
        return line


MAX_NAME_LENGTH = 120


def file_name(sentence: str) -> str:
    """Such as `tacitus-balance-of-0xd8dA-6045-demo-a-block-884`."""
    words = re.split(r"[^0-9A-Za-z]+", sentence.replace(",", ""))
    parts = [word if word.startswith("0x") else word.lower() for word in words if word]
    return "-".join(["tacitus", *parts])[:MAX_NAME_LENGTH]


def batch_file_name(batch_id: str, links: PageLinks) -> str:
    """Raises Http404 if there is no such batch."""
    ids = [batch_id] if is_ulid(batch_id) else []
    sentence = batch_sentences(ids, links).get(batch_id)
    if sentence is None:
        raise Http404
    return file_name(f"{sentence.subject} {sentence.block}")


MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
Writer = Callable[[Iterable[FileRow], Sequence[str]], Iterator[str]]
WRITERS: dict[str, Writer] = {"csv": csv_chunks, "json": json_chunks}


def batch_facts(
    _request: HttpRequest, batch_id: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    return facts_file(read_batch_facts(batch_id), links, form, batch_file_name(batch_id, links))


DELIVERY_COLUMNS = (
    "position", "state", "to", "function", "arguments", "gas", "gas_source", "unless",
    "transaction", "transaction_block", "gas_used", "ended_at", "refusals", "next_attempt",
    "wait_code", "waits_for", "error_code", "error",
)  # fmt: skip


def batch_deliveries(_request: HttpRequest, batch_id: str, links: PageLinks) -> HttpResponse:
    """A row for each delivery. Raises Http404 if the batch has none."""
    name, rows = batch_file_name(batch_id, links), read_deliveries([batch_id])[batch_id]
    if not rows:
        raise Http404
    response = HttpResponse(
        content_type=MEDIA_TYPES["csv"],
        headers={"Content-Disposition": f'attachment; filename="{name}-deliveries.csv"'},
    )
    writer = csv.writer(response)
    writer.writerow(DELIVERY_COLUMNS)
    for position, row in enumerate(rows):
        values = (
            f"{position}",
            row.state,
            row.to,
            row.function,
            json.dumps(row.arguments, ensure_ascii=False),
            _number_text(row.gas),
            row.gas_source,
            json.dumps(row.unless, ensure_ascii=False) if row.unless else "",
            row.transaction_hash,
            _number_text(row.transaction_block),
            _number_text(row.gas_used),
            _time_text(row.ended_at),
            f"{row.refusals}",
            _time_text(row.retry_at),
            row.waits_for.code if row.waits_for else "",
            row.waits_for.sentence if row.waits_for else "",
            row.error.code if row.error else "",
            row.error.sentence if row.error else "",
        )
        writer.writerow(map(escape_formula, values))
    return response


def _number_text(number: int | None) -> str:
    return "" if number is None else str(number)


def account_facts(
    request: HttpRequest, address: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    """Facts of the chain in the URL, or of the one that the account's page shows."""
    cursor, checksum_address = _file_cursor(request), to_checksum_address(address)
    chain = selected_chain(request, checksum_address, links)
    if chain is None:
        return facts_file((), links, form, file_name(f"facts of {checksum_address}"))
    page = reading.account_fact_page(checksum_address, chain, cursor)
    name = f"facts of {short_hash(checksum_address)} {links.chain_name(chain)}"
    return _page_file(request, page, links, form, file_name(name))


def block_facts(
    request: HttpRequest, chain: int, number: int, form: str, links: PageLinks
) -> StreamingHttpResponse:
    page = reading.block_fact_page(chain, number, _file_cursor(request))
    name = f"facts of {block_name(chain, number, None, links)}"
    return _page_file(request, page, links, form, file_name(name))


def registry_facts(
    request: HttpRequest, destination: int, address: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    registry = registry_or_404(destination, address, links)
    page = reading.registry_fact_page(registry.source, registry.destination, _file_cursor(request))
    chains = (links.chain_name(chain) for chain in (registry.source, registry.destination))
    name = f"facts of {' on '.join(chains)}"
    return _page_file(request, page, links, form, file_name(name))


def facts_file(
    facts: Iterable[FactView], links: PageLinks, form: str, name: str
) -> StreamingHttpResponse:
    return _file((_row(fact, links) for fact in facts), COLUMNS, form, name)


def _file(
    rows: Iterable[FileRow], columns: Sequence[str], form: str, name: str
) -> StreamingHttpResponse:
    response = StreamingHttpResponse(WRITERS[form](rows, columns), content_type=MEDIA_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


def _page_file(
    request: HttpRequest, page: Page[FactView], links: PageLinks, form: str, name: str
) -> StreamingHttpResponse:
    response = facts_file(page.rows, links, form, _name_of_page(request, name))
    return _with_next_file(request, response, page.older)


def _name_of_page(request: HttpRequest, name: str) -> str:
    """The name of a file, with its cursor."""
    cursor = request.GET.get(OLDER_PARAMETER, "")
    return f"{name}-before-{cursor}" if cursor else name


def _with_next_file(
    request: HttpRequest, response: StreamingHttpResponse, cursor: str
) -> StreamingHttpResponse:
    """The response with a `Link` header that leads to the next file, if there is one."""
    if cursor:
        query = request.GET.copy()
        query[OLDER_PARAMETER] = cursor
        response["Link"] = f'<{request.path}?{query.urlencode()}>; rel="next"'
    return response


VALUE_COLUMNS = (
    "block", "block_time", "account", "field_or_slot", "value", "decoded", "batch", "transaction",
    "proven_at",
)  # fmt: skip


def feed_values(
    request: HttpRequest, feed_id: str, form: str, links: PageLinks
) -> StreamingHttpResponse:
    """The first value of each run that is DONE, newest first; `value` is the exact number, or the
    word. Raises Http404 if there is no such feed.
    """
    if reading.public_feed(feed_id) is None:
        raise Http404
    cursor = cursor_of(request, parse_ulid, (OLDER_PARAMETER,))
    page = reading.feed_value_page(feed_id, cursor)
    rows = (_value_row(value, links) for value in page.rows)
    name = _name_of_page(request, f"tacitus-feed-{feed_id}")
    return _with_next_file(request, _file(rows, VALUE_COLUMNS, form, name), page.older)


def _value_row(value: FeedValue, links: PageLinks) -> FileRow:
    fact = value.fact
    decoded = decode_fact(fact, links.currency(fact.source))
    values = (
        f"{fact.block}",
        _time_text(datetime_from_unix(value.timestamp)) if value.timestamp is not None else "",
        fact.account,
        fact.name,
        str(int(fact.word, 16)) if is_number(fact) else fact.word,
        decoded.exact,
        value.batch,
        fact.transaction_hash,
        _time_text(fact.proven_at),
    )
    return dict(zip(VALUE_COLUMNS, values, strict=True))


def _file_cursor(request: HttpRequest) -> Cursor | None:
    return cursor_of(request, number_parser(2), (OLDER_PARAMETER,))
