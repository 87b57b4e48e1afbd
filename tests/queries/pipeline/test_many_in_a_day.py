"""Which transactions count towards the daily budget."""

from datetime import timedelta

import pytest
from django.utils import timezone

from queries.models import SentTransaction
from queries.pipeline.fees import is_spent
from queries.routes import Chain

pytestmark = pytest.mark.django_db(transaction=True)


def _signed(hours: float, count: int, nonce: int) -> None:
    SentTransaction.objects.bulk_create(
        (
            SentTransaction(
                chain=1, sender="0x", nonce=nonce + each, raw=bytes(2_000), max_fee="",
                gas_limit=0, most=f"{7:064x}", settled=True, final=True,
                signed=timezone.now() - timedelta(hours=hours), gas_used=2,
                gas_price=f"{2:064x}", data_fee=f"{2:064x}",
            )
            for each in range(count)
        ),
        batch_size=500,
    )  # fmt: skip


def test_one_whose_nonce_was_left_out_for_some_minutes_is_counted() -> None:
    """It has a smaller nonce than those that were signed before it."""
    _signed(hours=24.1, count=1, nonce=8)
    _signed(hours=23.9, count=1, nonce=7)
    ours = SentTransaction.objects.all()
    assert is_spent(Chain(1, "One", (), most_a_day=6), ours)
    assert not is_spent(Chain(1, "One", (), most_a_day=7), ours)
