"""The start page: what it is, what came last, and what was proven."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from queries import counters
from queries.models import Batch
from queries.statuses import BatchStatus
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, submitted
from tests.queries.api.worked_batches import set_status

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _submitted(key: str, accounts: int = 1) -> str:
    people = {f"0x{number + 1:040x}": {"props": ["BALANCE"]} for number in range(accounts)}
    content = {
        "destinationChainId": str(SEPOLIA),
        "fee": "0",
        "data": {str(SEPOLIA): {"block:5186021": {"accounts": people}}},
        "webhook": {"url": "https://example.org/hunter2", "headers": {"X-Mine": "hunter2"}},
    }
    return submitted(key, content)


def _newest(seen: str) -> Any:
    return Client().get("/explorer/newest", {"seen": seen})


def _mark(text: str) -> str:
    return str(re.findall(r"/explorer/newest\?seen=(\w+)", text)[0])


def test_a_service_that_has_done_nothing_says_what_to_do_next() -> None:
    text = Client().get("/").text
    assert "Nothing has been submitted here yet." in text
    assert 'href="/sign-in"' in text
    assert "What this service has proven" not in text
    assert 'name="q"' in text


def test_the_newest_ten_are_there_and_nothing_private() -> None:
    key = make_key()
    batches = [_submitted(key, accounts=2) for _ in range(11)]
    text = Client().get("/").text
    assert re.findall(r'id="batch-(\w+)"', text) == sorted(batches, reverse=True)[:10]
    assert text.count("2 queries to Sepolia") == 10
    assert "No batch has come to its end yet." in text
    assert "hunter2" not in text


def test_only_what_has_changed_is_sent_again() -> None:
    key = make_key()
    batch_id = _submitted(key)
    mark = _mark(Client().get("/").text)
    same = _newest(mark)
    assert (same.status_code, same.content) == (204, b"")
    set_status(batch_id, BatchStatus.DONE)
    changed = _newest(mark)
    assert changed.status_code == 200
    assert changed.text.lstrip().startswith('<ol class="rows newest" id="newest"')
    assert "DONE" in changed.text
    assert _newest(_mark(changed.text)).status_code == 204
    _submitted(key)
    assert _newest(_mark(changed.text)).status_code == 200


def test_an_age_is_told_anew_when_its_words_change() -> None:
    _submitted(make_key())
    mark = _mark(Client().get("/").text)
    Batch.objects.update(submitted=datetime.now(UTC) - timedelta(hours=3))
    older = _newest(mark)
    assert "3 hours ago" in older.text
    assert _newest(_mark(older.text)).status_code == 204


@pytest.mark.parametrize("seen", ["", "x" * 5_000, "\x00", "<b>", "\u202e"])
def test_whatever_it_is_told_was_seen_it_answers(seen: str) -> None:
    assert _newest(seen).status_code == 200


def test_what_was_proven_is_told_in_digits_charts_and_tables() -> None:
    counters.count(
        datetime.now(UTC),
        {"facts": 1_234, "gas": 123_400_000, "batches_done": 40, "done_within_15": 40},
    )
    text = Client().get("/").text
    for said in ("1,234 facts, all on ", "All batches were DONE within 15 s", "100,000 gas a fact"):
        assert said in text
    assert text.count("The same in a table") == 4
