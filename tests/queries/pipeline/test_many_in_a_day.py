"""What a day has cost is known at once, however many transactions it had, and those before it."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queries.models import SentTransaction
from queries.pipeline.day import is_spent
from queries.routes import Chain

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 4_000
STATEMENTS = 3  # and one for the time where the database tells it
CHAIN = Chain(1, "One", (), most_a_day=MANY * 6)
NOT_READ = ("raw", "shares", "hashes")


def _signed(hours: float, count: int, nonce: int) -> None:
    SentTransaction.objects.bulk_create(
        (
            SentTransaction(
                chain=1, sender="0x", nonce=nonce + each, raw=bytes(2_000), max_fee="",
                gas_limit=0, most=f"{7:064x}", shares={"a": {"1": 1}}, settled=True, final=True,
                signed=timezone.now() - timedelta(hours=hours), gas_used=2,
                gas_price=f"{2:064x}", data_fee=f"{2:064x}",
            )
            for each in range(count)
        ),
        batch_size=500,
    )  # fmt: skip


def _fastest(what: Callable[[], object]) -> float:
    took = []
    for _ in range(5):
        began = time.perf_counter()
        what()
        took.append(time.perf_counter() - began)
    return min(took)


@pytest.fixture
def ours() -> QuerySet[SentTransaction]:
    _signed(hours=40, count=MANY, nonce=0)
    _signed(hours=10, count=MANY, nonce=MANY)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return SentTransaction.objects.filter(chain=1, sender="0x")


def test_it_is_added_up_in_less_time_than_its_rows_take(ours: QuerySet[SentTransaction]) -> None:
    assert is_spent(CHAIN, ours)
    of_the_day = ours.filter(nonce__gte=MANY).defer(*NOT_READ)
    assert _fastest(lambda: is_spent(CHAIN, ours)) < _fastest(lambda: list(of_the_day.all()))


def test_those_before_it_are_not_read(ours: QuerySet[SentTransaction]) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert is_spent(CHAIN, ours)
    assert len(asked) <= STATEMENTS + (connection.vendor == "postgresql")
    assert f'"nonce" > {MANY - 1}' in asked.captured_queries[-1]["sql"]


def test_one_whose_nonce_was_left_out_for_some_minutes_is_counted() -> None:
    """It has a smaller nonce than those that were signed before it."""
    _signed(hours=24.1, count=1, nonce=8)
    _signed(hours=23.9, count=1, nonce=7)
    ours = SentTransaction.objects.all()
    assert is_spent(Chain(1, "One", (), most_a_day=6), ours)
    assert not is_spent(Chain(1, "One", (), most_a_day=7), ours)
