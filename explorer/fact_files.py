"""Proven facts as files for other programs, written as they are read."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC

from explorer.fact_lines import fact_line
from explorer.page_links import PageLinks
from queries.reading.facts import ProvenFact

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
    """Behind an apostrophe where a spreadsheet would calculate it: names are anyone's choice."""
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
