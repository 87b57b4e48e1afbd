"""What an account may ask for in a day, because all of it is kept."""

from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import Allowance
from queries.models import Batch, Query
from tests.queries.api.served_api import HERE, OTHER_WALLET, WALLET, make_key, submit
from tests.queries.schema.example_batches import account_batch

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _three_facts(key: str, **headers: str) -> Any:
    return submit(key, account_batch({"props": ["NONCE", "BALANCE"], "slots": ["0x1"]}), **headers)


def test_an_account_has_so_many_in_a_day(settings: LazySettings) -> None:
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
    assert _three_facts(make_key(WALLET)).status_code == 429  # whichever of its keys it shows
    assert (Batch.objects.count(), Query.objects.count()) == (3, 3)


def test_a_batch_larger_than_the_daily_limit_is_refused(settings: LazySettings) -> None:
    """And not to come again, which some would do for ever."""
    settings.FACTS_PER_DAY = 2
    refused = _three_facts(make_key())
    told = refused.json()
    assert (refused.status_code, told["code"]) == (400, "more_facts_than_a_day")
    assert (told["retryable"], told["path"]) == (False, "data")
    assert "Retry-After" not in refused
    assert told["error"] == (
        "This batch asks for 3 facts, and no account may ask for more than 2 in a day here. "
        "Split it into smaller batches and submit them over several days."
    )
    assert not Batch.objects.exists()
    assert not Allowance.objects.filter(subject__startswith="facts of ").exists()


def test_the_next_day_has_as_many(settings: LazySettings) -> None:
    settings.FACTS_PER_DAY = 3
    key = make_key()
    assert [_three_facts(key).status_code for _ in range(2)] == [200, 429]
    held = Allowance.objects.get(subject__startswith="facts of ")
    Allowance.objects.filter(pk=held.pk).update(window_start=held.window_start - 86_400)
    assert [_three_facts(key).status_code for _ in range(2)] == [200, 429]
