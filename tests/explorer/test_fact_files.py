"""Proven facts as files."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from explorer.links import PageLinks
from explorer.pages.downloads import COLUMNS, as_text, csv_pieces, json_pieces
from queries.reading.facts import FactView, ProvenFact
from queries.routes import Chain, Registry, RegistryKind, Routes
from tests.explorer.facts import ACCOUNT, account_field, header_field, slot

pytestmark = pytest.mark.no_database

REGISTRY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
LINKS = PageLinks(
    Routes(
        {1: Chain(1, "Ethereum", ()), 10: Chain(10, "OP", (), currency="WORLD")},
        {(1, 10): Registry(RegistryKind.OPTIMISM, 1, 10, REGISTRY)},
    )
)
PROVEN = datetime(2026, 11, 20, 7, 41, 3, 500_000, tzinfo=UTC)


def _proven(fact: FactView) -> ProvenFact:
    return ProvenFact(fact, "0x" + 64 * "b", "0x" + 64 * "c", PROVEN)


def _read(*facts: FactView) -> list[dict[str, str]]:
    text = "".join(csv_pieces(map(_proven, facts), LINKS))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_row_says_all_of_a_fact() -> None:
    fact = account_field("BALANCE", 123 * 10**18, "vitalik.eth")
    assert _read(fact) == [
        {
            "source_chain": "1",
            "block": "7",
            "block_hash": "0x" + 64 * "b",
            "account": ACCOUNT,
            "name": "vitalik.eth",
            "field_or_slot": "BALANCE",
            "word": fact.word,
            "decoded": "123 ETH",
            "registry": REGISTRY,
            "destination_chain": "10",
            "transaction": "0x" + 64 * "c",
            "proven_at": "2026-11-20T07:41:03.500000Z",
        }
    ]


def test_json_says_the_same() -> None:
    facts = [account_field("NONCE", 3), header_field("TIMESTAMP", 5), slot(9)]
    text = "".join(json_pieces(map(_proven, facts), LINKS))
    assert json.loads(text) == _read(*facts)


def test_where_there_are_none_the_head_stays() -> None:
    assert "".join(csv_pieces([], LINKS)) == ",".join(COLUMNS) + "\r\n"
    assert json.loads("".join(json_pieces([], LINKS))) == []


@pytest.mark.parametrize(
    "text",
    [
        "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1",
        '=HYPERLINK("http://x")', "＝1", "－1", "＋1", "＠A",  # noqa: RUF001
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(text: str) -> None:
    assert as_text(text) == f"'{text}"
    (row,) = _read(account_field("NONCE", 1, text))
    assert row["name"] == f"'{text}"


@pytest.mark.parametrize("text", ["", "vitalik.eth", "0x1", "1,5", 'a"b', "a=b", "a\nb"])
def test_other_cells_are_as_they_are(text: str) -> None:
    (row,) = _read(account_field("NONCE", 1, text))
    assert row["name"] == text
