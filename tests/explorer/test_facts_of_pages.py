"""The facts of an account, a block and a registry as files, in portions that nobody can widen."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client

from queries.models import Batch, Query
from queries.reading import facts
from queries.statuses import BatchStatus
from tests.explorer.on_record import ADDRESS, BLOCK, OTHER, ask, ask_balances, prove
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA, make_key, submitted

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

ACCOUNT = f"/explorer/account/{ADDRESS}"
PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"
REGISTRY = f"/explorer/registry/{SEPOLIA}/{ROUTES.registries[SEPOLIA, SEPOLIA].address}"
FAR = f"/explorer/registry/{OPTIMISM}/{ROUTES.registries[SEPOLIA, OPTIMISM].address}"
PLACES = (ACCOUNT, PAGE, REGISTRY)


def _get(address: str) -> Any:
    answer = Client().get(address)
    assert answer.status_code == 200
    return answer


def _rows(answer: Any) -> list[dict[str, str]]:
    text = b"".join(answer).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _portions(address: str) -> list[list[dict[str, str]]]:
    """Each file that the one before leads to."""
    found = []
    while address:
        answer = _get(address)
        found.append(_rows(answer))
        following = re.fullmatch('<(.+)>; rel="next"', answer.get("Link", ""))
        address = following[1] if following else ""
    return found


def _ask_to_optimism(source: int, block: int) -> str:
    asked = {ADDRESS: {"props": ["BALANCE"]}}
    data = {str(source): {f"block:{block}": {"accounts": asked}}}
    content = {"destinationChainId": str(OPTIMISM), "fee": "1", "data": data}
    return submitted(make_key(), content)


def test_each_page_leads_to_its_files_and_both_say_the_same() -> None:
    prove(ask_balances(count=2, blocks=2), nonce=1)
    for page in PLACES:
        text = _get(page).text
        assert f"at most {facts.MOST_QUERIES:,} queries" in text
        links = re.findall(r'<a href="([^"]+)" download', text)
        assert len(links) == 2
        table, objects = (_get(each) for each in links)
        assert table["Content-Type"] == "text/csv; charset=utf-8"
        assert objects["Content-Type"] == "application/json"
        rows = _rows(table)
        assert rows
        assert rows == json.loads(b"".join(objects))
    assert _get(f"{PAGE}/facts.csv")["Content-Disposition"] == (
        f'attachment; filename="tacitus-{SEPOLIA}-block-{BLOCK}.csv"'
    )


def test_they_hold_what_is_proven_newest_block_first() -> None:
    prove(ask_balances(count=3, blocks=2), nonce=1)
    prove(ask({OTHER: {"props": ["BALANCE"]}}, BLOCK + 5))
    ask_balances(blocks=3)  # which is not done
    rows = _rows(_get(f"{ACCOUNT}/facts.csv"))
    assert [(int(row["block"]) - BLOCK, row["field_or_slot"][:7]) for row in rows] == [
        (block, name) for block in (1, 0) for name in ("NONCE", "BALANCE", "0x00000")
    ]
    assert {row["account"] for row in rows} == {ADDRESS}
    assert {row["block"] for row in _rows(_get(f"{PAGE}/facts.csv"))} == {str(BLOCK)}
    blocks = [int(row["block"]) - BLOCK for row in _rows(_get(f"{REGISTRY}/facts.csv"))]
    assert (blocks, set(blocks)) == (sorted(blocks, reverse=True), {5, 1, 0})
    assert len(blocks) == 1 + 2 * 5


def test_no_other_chains_facts_are_among_them() -> None:
    """Of the same block number, the same source or the same account."""
    prove(ask_balances())
    prove(_ask_to_optimism(SEPOLIA, BLOCK))
    prove(_ask_to_optimism(OPTIMISM, BLOCK))
    chains = {
        f"{ACCOUNT}/facts.csv?chain={SEPOLIA}": {(SEPOLIA, SEPOLIA), (SEPOLIA, OPTIMISM)},
        f"{ACCOUNT}/facts.csv?chain={OPTIMISM}": {(OPTIMISM, OPTIMISM)},
        f"{ACCOUNT}/facts.csv": {(OPTIMISM, OPTIMISM)},  # as the page shows at first
        f"{ACCOUNT}/facts.csv?chain=137": set(),
        f"{PAGE}/facts.csv": {(SEPOLIA, SEPOLIA), (SEPOLIA, OPTIMISM)},
        f"{REGISTRY}/facts.csv": {(SEPOLIA, SEPOLIA)},
        f"{FAR}/facts.csv": {(SEPOLIA, OPTIMISM)},
    }
    for address, expected in chains.items():
        rows = _rows(_get(address))
        found = {(int(row["source_chain"]), int(row["destination_chain"])) for row in rows}
        assert found == expected, address


@pytest.mark.parametrize("page", PLACES)
@pytest.mark.parametrize("most", [{"MOST_QUERIES": 2}, {"MOST_FACTS": 3}, {"AT_ONCE": 2}])
def test_one_portion_leads_to_the_next(
    monkeypatch: pytest.MonkeyPatch, page: str, most: dict[str, int]
) -> None:
    for _ in range(3):
        prove(ask_balances(count=3, blocks=2))
    (whole,) = _portions(f"{page}/facts.csv")
    for name, value in most.items():
        monkeypatch.setattr(facts, name, value)
    portions = _portions(f"{page}/facts.csv")
    assert [row for portion in portions for row in portion] == whole
    assert (len(portions) > 1) is ("AT_ONCE" not in most)
    assert all(0 < len(portion) <= 6 for portion in portions) is ("AT_ONCE" not in most)


def test_the_next_portion_stays_on_its_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_QUERIES", 1)
    for block in (BLOCK, BLOCK + 1):
        prove(ask({ADDRESS: {"props": ["NONCE"]}}, block))
        prove(_ask_to_optimism(OPTIMISM, block))
    answer = _get(f"{ACCOUNT}/facts.csv?chain={SEPOLIA}")
    key = Query.objects.get(source=SEPOLIA, block=BLOCK + 1).pk
    following = f"{ACCOUNT}/facts.csv?chain={SEPOLIA}&before={BLOCK + 1}.{key}"
    assert answer["Link"] == f'<{following}>; rel="next"'
    assert f"before-{BLOCK + 1}.{key}.csv" in _get(following)["Content-Disposition"]
    (row,) = _rows(_get(following))
    assert (row["source_chain"], row["block"]) == (str(SEPOLIA), str(BLOCK))


def test_what_is_passed_over_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has the server walk through what is not done, or is for another chain."""
    monkeypatch.setattr(facts, "MOST_QUERIES", 2)
    prove(ask_balances())
    last = ask_balances(count=5)
    prove(last)
    Batch.objects.filter(pk=last).update(status=BatchStatus.IN_PROGRESS)
    sizes = [len(portion) for portion in _portions(f"{PAGE}/facts.csv")]
    assert sizes == [0, 0, 3]


def test_blocks_that_only_others_asked_for_are_leapt_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(facts, "AT_ONCE", 1)
    for block in (BLOCK, BLOCK + 30):
        prove(_ask_to_optimism(SEPOLIA, block))
    prove(ask({OTHER: {"props": ["NONCE"]}}, *(BLOCK + number for number in range(1, 30))))
    (rows,) = _portions(f"{FAR}/facts.csv")
    assert [int(row["block"]) - BLOCK for row in rows] == [30, 0]


LARGE = "9" * 5_000


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize(
    "asked",
    ["before=x", "before=1", "before=1.2.3", "before=-1.2", f"before={LARGE}.1", "before=1.%00",
     f"before={2**63}.1", "before=", "before=%E2%80%AE1.1", "before=1.1%0d%0aX-Mine:1"],
)  # fmt: skip
@pytest.mark.parametrize("page", PLACES)
def test_what_is_no_cursor_leads_nowhere(page: str, asked: str, form: str) -> None:
    answer = Client().get(f"{page}/facts.{form}?{asked}")
    assert (answer.status_code, "Link" in answer) == (404, False)


@pytest.mark.parametrize(
    "address",
    [f"{ACCOUNT}/facts.xml", f"{ACCOUNT}/facts.csv?chain=x", f"{ACCOUNT}0/facts.csv",
     f"/explorer/block/{SEPOLIA}/{2**63}/facts.csv", f"/explorer/block/{SEPOLIA}/-1/facts.csv",
     f"/explorer/registry/{SEPOLIA}/{ADDRESS}/facts.csv", f"{ACCOUNT}/facts.csv/"],
)  # fmt: skip
def test_no_other_address_is_a_file(address: str) -> None:
    prove(ask_balances())
    assert Client().get(address).status_code == 404


def test_of_what_nobody_asked_for_there_is_the_head_alone() -> None:
    for page in (f"/explorer/account/{OTHER}", f"/explorer/block/{SEPOLIA}/1", FAR):
        assert _rows(_get(f"{page}/facts.csv")) == []
        assert json.loads(b"".join(_get(f"{page}/facts.json"))) == []


def test_a_hostile_name_is_no_formula_and_no_header() -> None:
    batch = ask({ADDRESS: {"props": ["NONCE"]}}, BLOCK)
    Query.objects.filter(batch=batch).update(name='=HYPERLINK("http://x")')
    prove(batch)
    for page in PLACES:
        (row,) = _rows(_get(f"{page}/facts.csv"))
        assert row["name"] == '\'=HYPERLINK("http://x")'
