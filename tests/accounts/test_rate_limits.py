"""Limits: exact for many at once, told in headers, and closed where they cannot be kept."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from accounts.keys import manage
from accounts.models import Account, Allowance
from accounts.shared import rate_limits
from accounts.shared.rate_limits import client_network, spend
from accounts.sign_in.wallets import Wallet
from tests.accounts.concurrency import all_at_once

WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def make_key() -> str:
    text = manage.shown(manage.add_key(Account.objects.of_wallet(Wallet(WALLET))[0], "Bridge"))
    assert text is not None
    return text


def ask(text: str) -> Any:
    return Client().get("/api-key", headers={"api-key": text})


@pytest.mark.django_db
def test_what_is_left_is_reported(settings: LazySettings) -> None:
    settings.REQUESTS_PER_MINUTE = 2
    text = make_key()
    answers = [ask(text) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert {answer["RateLimit-Limit"] for answer in answers} == {"2"}
    assert all(0 < int(answer["RateLimit-Reset"]) <= 60 for answer in answers)
    refused = answers[2]
    assert "Retry-After" not in answers[0]
    assert refused["Retry-After"] == refused["RateLimit-Reset"]
    assert (refused.json()["code"], refused.json()["retryable"]) == ("too_many_requests", True)
    assert refused.json()["error"].startswith("A key may make 2 requests a minute")


@pytest.mark.django_db
def test_each_key_has_its_own(settings: LazySettings) -> None:
    settings.REQUESTS_PER_MINUTE = 1
    first, second = make_key(), make_key()
    assert [ask(text).status_code for text in (first, second, first)] == [200, 200, 429]


@pytest.mark.django_db
def test_what_was_refused_is_not_counted(settings: LazySettings) -> None:
    settings.REQUESTS_PER_MINUTE = 1
    text = make_key()
    for _ in range(5):
        ask(text)
    assert (Allowance.objects.get().used, Allowance.objects.get().day_used) == (1, 1)


@pytest.mark.django_db
def test_a_window_ends_and_begins_with_the_next_use() -> None:
    assert [spend("one", 2, 60).allowed for _ in range(3)] == [True, True, False]
    Allowance.objects.update(window_began=rate_limits.database_now() - 59)
    assert not spend("one", 2, 60).allowed
    Allowance.objects.update(window_began=rate_limits.database_now() - 60)
    fresh = spend("one", 2, 60)
    assert (fresh.allowed, fresh.remaining, fresh.seconds_left) == (True, 1, 60)


@pytest.mark.django_db
def test_a_clock_that_was_set_back_locks_nobody_out() -> None:
    assert [spend("one", 1, 60).allowed for _ in range(2)] == [True, False]
    Allowance.objects.update(window_began=rate_limits.database_now() + 3_600)
    assert spend("one", 1, 60).allowed


@pytest.mark.django_db(transaction=True)
def test_of_a_hundred_at_once_exactly_the_limit_pass(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "WAIT_SECONDS", 60)  # a hundred threads on one machine wait
    settings.REQUESTS_PER_MINUTE = 37
    text = make_key()
    answers = all_at_once(lambda _: ask(text), 100)
    assert sorted(answer.status_code for answer in answers) == 37 * [200] + 63 * [429]
    left = [int(each["RateLimit-Remaining"]) for each in answers if each.status_code == 200]
    assert sorted(left) == list(range(37))
    assert Allowance.objects.get().used == 37


@pytest.mark.django_db
@pytest.mark.parametrize("statement", ["SELECT", "INSERT"])
def test_where_it_cannot_be_counted_nobody_is_let_in(statement: str) -> None:
    """Neither when the key cannot be looked up nor when its use cannot be noted."""
    text = make_key()

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.strip().startswith(statement):
            raise OperationalError("the database is gone")
        return execute(sql, *rest)

    with connection.execute_wrapper(fail):
        answer = ask(text)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Retry-After"] == "5"
    assert answer.json()["retryable"] is True
    assert "the database is gone" not in answer.text


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("address", "forwarded", "behind", "network"),
    [
        ("203.0.113.7", "", False, "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", False, "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1", True, "198.51.100.1"),
        ("10.0.0.1", "6.6.6.6, 198.51.100.1", True, "198.51.100.1"),
        ("10.0.0.1", "", True, "10.0.0.1"),
        ("10.0.0.1", "nonsense", True, "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, ", True, "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1:4567", True, "198.51.100.1"),
        ("10.0.0.1", "[2001:db8:1:2::3]:4567", True, "2001:db8:1:2::/64"),
        ("10.0.0.1", "[2001:db8:1:2::3]", True, "2001:db8:1:2::/64"),
        ("10.0.0.1", "2001:db8:1:2::3", True, "2001:db8:1:2::/64"),
        ("10.0.0.1", "[]:1", True, "10.0.0.1"),
        ("10.0.0.1", "999.1.1.1:5", True, "10.0.0.1"),
        ("", "", False, "unknown"),
        ("2001:db8:1:2:3:4:5:6", "", False, "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "", False, "203.0.113.7"),
    ],
)
def test_whose_network_it_is(
    settings: LazySettings, address: str, forwarded: str, network: str, *, behind: bool
) -> None:
    settings.BEHIND_PROXY = behind
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=address)
    assert client_network(request) == network
