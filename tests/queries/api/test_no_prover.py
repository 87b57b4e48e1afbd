"""A batch waits for a prover if none has claimed it, or none has been seen lately."""

from datetime import UTC, timedelta

import pytest
from django.utils import timezone

from queries.models import ChainRecord
from queries.statuses import BatchStatus
from tests.queries.api.batch_states import set_status
from tests.queries.api.served_api import HERE, SEPOLIA, ask, make_key, record_head, submitted
from tests.queries.schema.example_batches import SPECIFICATION

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def seen(ago: timedelta) -> str:
    """Set when a prover last polled, and return that time as shown."""
    moment = timezone.now() - ago
    ChainRecord.objects.update(polled_at=moment)
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def test_a_batch_says_that_it_waits_for_a_prover() -> None:
    key = make_key()
    batch_id = submitted(key, SPECIFICATION)

    def result() -> tuple[str | None, str | None]:
        (listed,) = ask(key, "/batch-queries").json()["batches"]
        polled = ask(key, "/batch-query-status", batchQueryId=batch_id, details=0)
        parts = ("waitCode", "waitsFor")
        code, sentence = (polled.json()[name] for name in parts)
        assert (code, sentence) == tuple(listed[name] for name in parts)
        return code, sentence

    start = "the operator starts one with manage.py run_prover."
    never = f"No prover has taken it yet, and none has been seen so far: {start}"
    assert result() == ("no_prover", never)
    record_head(SEPOLIA, number=1, timestamp=1)
    assert result() == ("not_claimed", "No prover has taken it yet.")
    since = seen(timedelta(minutes=3))
    lately = f"No prover has taken it yet, and none has been seen since {since}: {start}"
    assert result() == ("no_prover", lately)
    set_status(batch_id, BatchStatus.RECEIVED, lease_token="x")
    assert result() == ("no_prover", f"No prover has been seen since {since}: {start}")
    seen(timedelta(seconds=60))
    assert result() == (None, None)
    waits = {"waits_for": "It waits.", "wait_code": "concurrent_prover", "lease_token": ""}
    set_status(batch_id, BatchStatus.IN_PROGRESS, **waits)
    assert result() == ("concurrent_prover", "It waits.")
    since = seen(timedelta(minutes=3))
    assert result() == ("no_prover", f"No prover has been seen since {since}: {start}")
    set_status(batch_id, BatchStatus.DONE)
    assert result() == (None, None)
