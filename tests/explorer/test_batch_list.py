"""The list of all batches: filters, pages, and what it keeps to itself."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from accounts.wallets import shortened
from explorer.pages import batches
from queries.models import Batch
from queries.statuses import BatchStatus
from tests.explorer.on_record import ask_balances, prove
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA, make_key, submitted
from tests.queries.api.worked_batches import set_status

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _list(address: str = "", **parameters: str) -> Any:
    return Client().get(f"/explorer/batches{address}", parameters)


def _ids(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return re.findall(r'href="/explorer/query/(\w+)"', answer.text)


def _way(answer: Any, words: str) -> str:
    (found,) = re.findall(rf'<a href="([^"]+)"[^>]*>{words}', answer.text)
    return str(found)


def _to_optimism() -> str:
    data = {str(SEPOLIA): {"block:7": {"header": ["TIMESTAMP"]}}}
    content = {"destinationChainId": str(OPTIMISM), "fee": "1000", "data": data}
    return submitted(make_key(), content)


def test_newest_first_with_what_was_counted_once() -> None:
    old, new = ask_balances(count=3, blocks=2), _to_optimism()
    prove(old)
    answer = _list()
    assert _ids(answer) == [new, old]
    text = " ".join(re.sub("<[^>]*>", " ", answer.text).split())
    assert re.search(rf"{new} RECEIVED now .* OP Mainnet 1 1 1,000 wei 0", text)
    assert re.search(rf"{old} DONE now .* Sepolia 6 2 0 0", text)


def test_amounts_are_in_what_the_destination_counts_in(monkeypatch: pytest.MonkeyPatch) -> None:
    named = replace(ROUTES.chains[OPTIMISM], currency="WORLD")
    monkeypatch.setitem(ROUTES.chains, OPTIMISM, named)
    Batch.objects.filter(pk=_to_optimism()).update(fee=f"{10**18:064x}")
    assert ">1 WORLD</td>" in _list().text


def test_filters() -> None:
    rejected, other, _ = ask_balances(), ask_balances(), _to_optimism()
    set_status(rejected, BatchStatus.REJECTED)
    assert _ids(_list(status="REJECTED")) == [rejected]
    assert _ids(_list(to=str(SEPOLIA))) == [other, rejected]
    assert _ids(_list(to=str(SEPOLIA), status="RECEIVED")) == [other]
    nothing = _list(status="DONE")
    assert _ids(nothing) == []
    assert "No batch is here." in nothing.text


def test_pages_forth_and_back_show_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "LISTED", 3)
    made = sorted((ask_balances() for _ in range(8)), reverse=True)
    first = _list(to=str(SEPOLIA))
    assert "Newer" not in first.text
    second = _list(_way(first, "Older").replace("&amp;", "&"))
    new = ask_balances()  # moves nothing
    third = _list(_way(second, "Older").replace("&amp;", "&"))
    assert [*_ids(first), *_ids(second), *_ids(third)] == made
    assert "Older" not in third.text
    back = _list(_way(third, "← Newer").replace("&amp;", "&"))
    assert _ids(back) == _ids(second)
    assert _ids(_list(_way(back, "Newest"))) == [new, *made[:2]]


@pytest.mark.parametrize(
    "parameters",
    [
        {"status": "NONE"},
        {"status": "\x00"},
        {"to": "x"},
        {"to": "-1"},
        {"to": "٣"},
        {"to": "9" * 5_000},
        {"to": str(2**63)},
        {"before": "x"},
        {"before": ""},
        {"after": "\x00" * 26},
    ],
)
def test_what_no_link_says_leads_nowhere(parameters: dict[str, str]) -> None:
    assert _list(**parameters).status_code == 404


def test_a_chain_that_is_not_here_has_no_batches() -> None:
    assert _ids(_list(to="424242")) == []


def test_an_empty_service_says_what_to_do() -> None:
    assert "No batch was submitted yet." in _list().text


def test_whose_they_are_is_not_told() -> None:
    ask_balances()
    owner = Account.objects.get().address
    assert owner is not None
    text = _list().text
    for told in (owner, shortened(owner), owner.lower()):
        assert told not in text
