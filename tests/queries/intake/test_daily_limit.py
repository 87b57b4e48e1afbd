"""The daily limit of facts per account."""

from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import UsageCounter
from queries.models import Batch, Query
from tests.queries.api.served_api import HERE, OTHER_WALLET, WALLET, make_key, submit
from tests.queries.schema.example_batches import account_batch

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _three_facts(key: str, **headers: str) -> Any:
    return submit(key, account_batch({"props": ["NONCE", "BALANCE"], "slots": ["0x1"]}), **headers)


def test_an_account_may_request_a_limited_number_of_facts_a_day(settings: LazySettings) -> None:
    settings.FACTS_PER_DAY = 6
    key = make_key()
    assert [_three_facts(key).status_code for _ in range(2)] == [200, 200]
    refused = _three_facts(key)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_facts")
    assert refused.json()["retryable"] is True
    assert 86_000 < int(refused["Retry-After"]) <= 86_400
    assert refused.json()["error"].startswith(
        "This batch asks for 3 facts. An account may ask for 6 a day here"
    )
    assert _three_facts(make_key(OTHER_WALLET)).status_code == 200
    assert _three_facts(make_key(WALLET)).status_code == 429  # another key of the same account
    assert (Batch.objects.count(), Query.objects.count()) == (3, 3)


def test_the_daily_limit_starts_again_the_next_day(settings: LazySettings) -> None:
    settings.FACTS_PER_DAY = 3
    key = make_key()
    assert [_three_facts(key).status_code for _ in range(2)] == [200, 429]
    row = UsageCounter.objects.get(subject__startswith="facts of ")
    UsageCounter.objects.filter(pk=row.pk).update(window_start=row.window_start - 86_400)
    assert [_three_facts(key).status_code for _ in range(2)] == [200, 429]
