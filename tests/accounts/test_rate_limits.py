"""Rate limits: exact under concurrency, reported in headers, closed without the database."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from accounts.http import rate_limits
from accounts.http.rate_limits import client_network, use_quota
from accounts.models import UsageCounter
from tests.accounts.api_keys import make_key, request_with
from tests.accounts.concurrency import all_at_once


@pytest.mark.django_db
def test_every_key_has_its_own_limit(settings: LazySettings) -> None:
    settings.REQUESTS_PER_MINUTE = 1
    (_, first), (_, second) = make_key(), make_key()
    assert [request_with(text).status_code for text in (first, second, first)] == [200, 200, 429]


@pytest.mark.django_db
def test_refused_requests_are_not_counted(settings: LazySettings) -> None:
    settings.REQUESTS_PER_MINUTE = 1
    _, text = make_key()
    for _ in range(5):
        request_with(text)
    assert (UsageCounter.objects.get().total_count, UsageCounter.objects.get().day_count) == (1, 1)


@pytest.mark.django_db
def test_a_window_starts_with_the_first_use_after_the_last_one_ended() -> None:
    assert [use_quota("one", 2, 60).is_allowed for _ in range(3)] == [True, True, False]
    UsageCounter.objects.update(window_start=rate_limits.database_now() - 50)
    assert not use_quota("one", 2, 60).is_allowed
    UsageCounter.objects.update(window_start=rate_limits.database_now() - 60)
    fresh = use_quota("one", 2, 60)
    assert (fresh.is_allowed, fresh.remaining, fresh.seconds_left) == (True, 1, 60)


@pytest.mark.django_db
def test_setting_the_clock_back_does_not_lock_a_subject_out() -> None:
    assert [use_quota("one", 1, 60).is_allowed for _ in range(2)] == [True, False]
    UsageCounter.objects.update(window_start=rate_limits.database_now() + 3_600)
    assert use_quota("one", 1, 60).is_allowed


@pytest.mark.django_db(transaction=True)
def test_of_a_hundred_concurrent_requests_exactly_the_limit_passes(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "LOCK_TIMEOUT", 60)  # a hundred threads on one machine wait
    settings.REQUESTS_PER_MINUTE = 37
    _, text = make_key()
    responses = all_at_once(lambda _: request_with(text), 100)
    assert sorted(response.status_code for response in responses) == 37 * [200] + 63 * [429]
    remaining = [
        int(response["RateLimit-Remaining"])
        for response in responses
        if response.status_code == 200
    ]
    assert sorted(remaining) == list(range(37))
    assert UsageCounter.objects.get().total_count == 37


@pytest.mark.django_db
@pytest.mark.parametrize("statement", ["SELECT", "INSERT"])
def test_requests_are_refused_if_the_key_lookup_or_the_counting_fails(statement: str) -> None:
    _, text = make_key()

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.strip().startswith(statement):
            raise OperationalError("the database is gone")
        return execute(sql, *rest)

    client = Client(raise_request_exception=False, headers={"api-key": text})
    with connection.execute_wrapper(fail):
        response = client.get("/api-key")
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert response["Retry-After"] == "5"
    assert response.json()["retryable"] is True
    assert "the database is gone" not in response.text


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
def test_the_clients_network_is_its_ipv4_address_or_ipv6_prefix(
    settings: LazySettings, address: str, forwarded: str, network: str, *, behind: bool
) -> None:
    settings.BEHIND_PROXY = behind
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=address)
    assert client_network(request) == network
