"""The start page and the list of all batches: filters, pages, privacy."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from accounts.wallets import short_hash
from explorer.pages import batches
from explorer.pages.formatting import age
from queries.database import statistics
from queries.models import Batch
from queries.reading import batches as reading
from queries.statuses import BatchStatus
from tests.explorer.page_text import visible_text
from tests.explorer.stored_batches import (
    ADDRESS,
    OTHER,
    prove,
    set_word,
    submit_accounts,
    submit_balances,
)
from tests.queries.api.batch_states import set_status
from tests.queries.api.served_api import HERE, OPTIMISM, SEPOLIA, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _list(query: str = "", **parameters: str) -> Any:
    return Client().get(f"/explorer/batches{query}", parameters)


def _ids(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return re.findall(r'href="/explorer/query/(\w+)"', answer.text)


def _link(answer: Any, text: str) -> str:
    (url,) = re.findall(rf'<a href="([^"]+)"[^>]*>{text}', answer.text)
    return str(url).replace("&amp;", "&")


def test_batches_are_listed_newest_first_with_filters_and_without_owners() -> None:
    old = submit_balances(count=3, blocks=2)
    new = submit_accounts({}, 7, destination=OPTIMISM, header=["TIMESTAMP"])
    other = submit_balances()
    prove(old)
    set_status(other, BatchStatus.REJECTED)
    answer = _list()
    assert _ids(answer) == [other, new, old]
    text = visible_text(answer.text)
    text = re.sub("[0-9]+ seconds? ago", "now", text)  # on a busy machine
    steps = "INITIAL_STATE IN_PROGRESS, BLOCKHASH_AVAILABLE not started, "
    steps += "HEADER_ACCUMULATED not started, timestamp of the header"
    asked = "Sepolia, block 7 readable on OP Mainnet No prover"
    assert f"RECEIVED {steps} {asked}" in text
    assert "fee 1,000 wei now" in text
    assert "10 facts of 3 accounts 2 blocks of Sepolia readable on Sepolia fee 0" in text
    assert _ids(_list(status="REJECTED")) == [other]
    assert _ids(_list(to=str(SEPOLIA))) == [other, old]
    assert _ids(_list(to=str(SEPOLIA), status="DONE")) == [old]
    assert _ids(_list(to="424242")) == []
    assert "3 batches, newest first" in text
    assert _ids(_list(kind="headers")) == [new]
    assert _ids(_list(kind="accounts", to=str(SEPOLIA))) == [other, old]
    assert _ids(_list(kind="events")) == []
    assert _ids(_list(**{"from": str(SEPOLIA)})) == [other, new, old]
    assert _ids(_list(**{"from": str(OPTIMISM)})) == []
    for owner in Account.objects.values_list("address", flat=True):
        assert owner is not None
        for private in (owner, short_hash(owner), owner.lower()):
            assert private not in answer.text


@pytest.mark.parametrize(
    ("accounts", "header", "subject"),
    [
        ({ADDRESS: {"props": ["BALANCE"], "slots": [hex(n) for n in range(12)]}}, [],
         "balance and 12 slots of 0xd8dA…6045"),
        ({ADDRESS: {"props": ["NONCE", "CODE_HASH", "BALANCE"], "slots": ["0x0"]}}, [],
         "3 fields and slot 0 of 0xd8dA…6045"),
        ({ADDRESS: {"slots": ["0x0", "0x1"]}, OTHER: {"props": ["NONCE"]}}, ["TIMESTAMP"],
         "1 header field and 3 facts of 2 accounts"),
        ({}, ["TIMESTAMP", "GAS_USED"], "gas used and timestamp of the header"),
    ],
)  # fmt: skip
def test_the_sentence_says_what_was_asked(
    accounts: dict[str, object], header: list[str], subject: str
) -> None:
    more: dict[str, Any] = {"header": header} if header else {}
    submit_accounts(accounts, **more)
    assert f"<bdi>{subject}</bdi>" in re.sub("</?span[^>]*>", "", _list().text)


def test_paging_back_and_forth_shows_no_batch_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCHES_PER_PAGE", 3)
    ids = sorted((submit_balances() for _ in range(8)), reverse=True)
    first = _list(to=str(SEPOLIA))
    assert "Newer" not in first.text
    second = _list(_link(first, "Older"))
    new = submit_balances()  # does not shift pages
    third = _list(_link(second, "Older"))
    assert [*_ids(first), *_ids(second), *_ids(third)] == ids
    assert "Older" not in third.text
    back = _list(_link(third, "← Newer"))
    assert _ids(back) == _ids(second)
    assert _ids(_list(_link(back, "Newest"))) == [new, *ids[:2]]


def test_a_filter_without_an_index_searches_so_many_batches_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "MAX_SEARCHED", 3)
    first = submit_accounts({}, 7, header=["TIMESTAMP"])
    others = [submit_balances() for _ in range(4)]
    header = submit_accounts({}, 8, header=["TIMESTAMP"])
    page = _list(kind="headers")
    assert _ids(page) == [header]
    assert "1 batch among the newest 3, newest first" in visible_text(page.text)
    page = _list(_link(page, "Older"))
    assert _ids(page) == [first]
    assert _ids(_list(_link(page, "← Newer"))) == []
    assert _ids(_list(_link(_list(_link(page, "← Newer")), "← Newer"))) == [header]
    Batch.objects.filter(id=first).delete()
    empty = _list(kind="headers", before=others[-1])
    assert "None of the 3 batches that this page searched." in visible_text(empty.text)
    assert _ids(_list(_link(empty, "Older"))) == []


def test_a_list_shows_the_date_of_older_batches() -> None:
    submit_balances()
    Batch.objects.update(submitted_at=datetime(2026, 3, 9, 17, 4, tzinfo=UTC))
    assert "2026-03-09" in visible_text(_list().text)


@pytest.mark.parametrize(
    "parameters",
    [{"status": "NONE"}, {"kind": "slots"}, {"from": "x"}, {"status": "\x00"}, {"to": "x"},
     {"to": "٣"}, {"to": "9" * 5_000},
     {"to": str(2**63)}, {"before": "x"}, {"before": ""}, {"after": "\x00" * 26}],
)  # fmt: skip
def test_invalid_parameters_are_not_found(parameters: dict[str, str]) -> None:
    assert _list(**parameters).status_code == 404


def _newest_since(seen: str) -> Any:
    return Client().get("/explorer/newest", {"seen": seen})


def _mark(text: str) -> str:
    return str(re.findall(r'id="live-newest".*?data-seen="(\w+)"', text, re.DOTALL)[0])


def test_the_start_page_refreshes_the_five_newest_batches() -> None:
    assert "Nothing has been submitted here yet." in Client().get("/").text
    ids = [submit_balances(count=2 + number) for number in range(6)]
    text = Client().get("/").text
    assert re.findall(r'id="batch-(\w+)"', text) == sorted(ids, reverse=True)[:5]
    assert text.count("facts of") == 5
    same = _newest_since(_mark(text))
    assert (same.status_code, same.content) == (204, b"")
    set_status(ids[-1], BatchStatus.DONE)
    changed = _newest_since(_mark(text))
    assert changed.text.lstrip().startswith('<div id="newest"')
    assert "DONE" in changed.text
    assert _newest_since(_mark(changed.text)).status_code == 204
    Batch.objects.update(submitted_at=datetime.now(UTC) - timedelta(hours=3))
    older = _newest_since(_mark(changed.text))
    assert "3 hours ago" in older.text
    assert _newest_since(_mark(older.text)).status_code == 204
    for invalid in ("", "x" * 5_000, "\x00", "<b>", "\u202e"):
        assert _newest_since(invalid).status_code == 200


def test_the_start_page_folds_equal_neighbours() -> None:
    ids = [submit_balances(count=count) for count in (2, 3, 3, 3, 2)]
    text = Client().get("/").text
    newest, first_equal, oldest = ids[4], ids[3], ids[0]
    assert re.findall(r'id="batch-(\w+)"', text) == [newest, first_equal, oldest]
    assert re.search("3 . 5 facts of 3 accounts", visible_text(text))
    assert visible_text(text).count(" 4 facts of 2 accounts") == 2


def test_the_start_page_says_what_was_proven_and_what_it_costs() -> None:
    counts = {"facts": 1_234, "gas": 123_400_000, "batches_done": 40, "done_within_15": 40}
    assert "this server has proven" not in Client().get("/").text
    statistics.add_counts(datetime.now(UTC), counts)
    text = Client().get("/").text
    assert "This server has proven 1,234 facts today, half of the batches within 15 seconds" in text
    assert "gas a fact on this server 100,000" in visible_text(text)
    assert "balances proven together cost" in text


def test_lists_and_the_start_page_say_why_a_batch_waits_and_whom_to_trust() -> None:
    waiting = submit_balances()
    Batch.objects.filter(pk=waiting).update(waits_for="Block 7 is not final yet.")
    record_head(SEPOLIA, number=1, timestamp=1)
    for address in ("/", "/explorer/newest", "/explorer/batches"):
        assert "Block 7 is not final yet." in Client().get(address).text
    opening = Client().get("/").text.partition('id="states-title"')[0]
    assert "never forge one" in opening
    assert "trusts nobody" in opening
    set_status(waiting, BatchStatus.REJECTED)
    assert "Block 7 is not final yet." not in Client().get("/").text
    assert "Block 7 is not final yet." not in _list().text


def test_a_large_number_is_rounded_instead_of_cut() -> None:
    batch = submit_accounts({ADDRESS: {"slots": ["0x1"]}})
    prove(batch)
    for number, text in ((25 * 10**22, "≈ 2.5 \u00d7 10²³"), (10**15 - 1, "999,999,999,999,999")):
        set_word(batch, f"0x{1:064x}", number)
        assert f'<bdi class="result">{text}</bdi>' in _list().text
        assert f"{number:,}" in Client().get(f"/explorer/query/{batch}").text


def test_ages_are_words() -> None:
    for seconds, text in (
        (-0.9, "now"),
        (59.9, "59 seconds ago"),
        (60, "1 minute ago"),
        (86_399, "23 hours ago"),
        (30 * 86_400, "1 month ago"),
        (365 * 86_400, "1 year ago"),
        (-7_200, "in 2 hours"),
    ):
        assert age(seconds) == text
