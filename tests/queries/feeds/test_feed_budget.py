"""The budget of a feed counts what its open runs reserve, however old they are."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from queries.models import Batch, ChainRecord
from tests.queries.api.served_api import (
    HERE,
    SEPOLIA,
    WALLET,
    ask,
    made_feed,
    make_key,
    record_head,
)
from tests.queries.feeds.running import submit_due_runs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]
HEAD, EVERY = 1_000, 100
FEE, BUDGET = 90_385_389_557_412, 10**14  # wei


def test_an_open_run_counts_after_a_day() -> None:
    record_head(SEPOLIA, number=HEAD, timestamp=int(time.time()))
    entry = {"accounts": {WALLET: {"props": ["BALANCE"]}}}
    data = {str(SEPOLIA): {"block:$due": entry}}
    batch = {"destinationChainId": str(SEPOLIA), "fee": str(FEE), "data": data}
    content = {"every": f"{EVERY} blocks", "batch": batch, "budget": str(BUDGET)}
    feed = made_feed(key := make_key(), content)
    for runs in (1, 2):
        ChainRecord.objects.update(number=HEAD + runs * EVERY)
        submit_due_runs()
        Batch.objects.update(submitted_at=timezone.now() - timedelta(hours=25))
    details = ask(key, f"/feeds/{feed}").json()
    assert len(details["runs"]) == 1
    assert details["waitsFor"] == (
        "Runs of this feed in the last 24 hours have spent or reserve 0.000090… ETH, and the next "
        "one reserves 0.000090… ETH: more than the budget of 0.0001 ETH."
    )
    Batch.objects.update(status="DONE", spent=f"{FEE:064x}")
    submit_due_runs()
    assert len(ask(key, f"/feeds/{feed}").json()["runs"]) == 2
