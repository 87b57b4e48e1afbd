"""A worker whose own clock is wrong goes by the one that all share."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from queries.pipeline.queue import shared_now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("hours", [2, -2])
def test_a_workers_own_clock_counts_only_where_it_is_its_machines(
    monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    true_now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: true_now() + timedelta(hours=hours))
    wrong = 0 if connection.vendor == "postgresql" else hours
    assert abs(shared_now() - true_now() - timedelta(hours=wrong)) < timedelta(minutes=1)
