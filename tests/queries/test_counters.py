"""What a day has brought is counted once, in the transaction that brings it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Sum

from queries import counters, transitions
from queries.models import Batch, BlockJob, DailyCount, Query, SentTransaction
from queries.pipeline.fees import note_final, settle_costs
from queries.pipeline.transactions import reopen
from queries.reading.figures import Brought, figures, within_which
from queries.statuses import StepName
from queries.transitions import Failure
from tests.accounts.concurrency import all_at_once
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, submitted
from tests.queries.api.worked_batches import run_steps, send_transaction

FAILURE = Failure("out_of_reach", "Too far.", StepName.BLOCKHASH_AVAILABLE, retryable=False)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]


def _submitted(accounts: int = 1) -> str:
    people = {
        f"0x{number + 1:040x}": {"props": ["BALANCE"], "slots": ["0x1"]}
        for number in range(accounts)
    }
    data = {str(SEPOLIA): {"block:5186021": {"accounts": people}}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    return submitted(make_key(), content)


def _queries(batch_id: str) -> list[int]:
    return list(Query.objects.filter(batch=batch_id).order_by("pk").values_list("pk", flat=True))


def _finish(keys: list[int]) -> None:
    transitions.finish({key: {"BALANCE": "00", "01": "00"} for key in keys})


def _counts() -> dict[str, int]:
    """
    Without how long it took, which no two runs take, and of all days: midnight may come between.
    """
    counted = DailyCount.objects.exclude(what=counters.TOOK)
    return dict(counted.values_list("what").annotate(Sum("amount")))


def test_a_batch_and_its_facts_are_counted_when_it_is_done() -> None:
    batch_id = _submitted(accounts=3)
    first, *rest = _queries(batch_id)
    _finish([first])
    assert _counts() == {"facts": 2}
    _finish([first, *rest])
    assert _counts() == {"facts": 6, "batches_done": 1, "done_within_5": 1}
    _finish([first, *rest])
    transitions.reject([batch_id], FAILURE)
    assert _counts() == {"facts": 6, "batches_done": 1, "done_within_5": 1}


def test_a_rejected_batch_is_counted_once() -> None:
    batch_id = _submitted()
    for _ in range(2):
        transitions.reject([batch_id], FAILURE)
    _finish(_queries(batch_id))
    assert _counts() == {"batches_rejected": 1}


def test_a_count_is_undone_with_what_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    batch_id = _submitted()

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(transitions, "count", fail)
        with pytest.raises(RuntimeError):
            _finish(_queries(batch_id))
    assert (_counts(), Batch.objects.get().ended) == ({}, None)


@pytest.mark.parametrize(
    ("took", "name"),
    [(0, "within_5"), (5, "within_5"), (5.1, "within_15"), (14_400, "within_14400"),
     (14_401, "later"), (-3, "within_5")],
)  # fmt: skip
def test_how_long_it_took_falls_into_one_bucket(took: float, name: str) -> None:
    counts = counters.of_done_batches([timedelta(seconds=took)])
    seconds = max(round(took), 0)
    assert counts == {"batches_done": 1, f"done_{name}": 1, "done_seconds": seconds}


def test_gas_is_counted_once_when_a_transaction_can_no_longer_change() -> None:
    """Not when it is settled: a reorg may still undo it."""
    batch_id = _submitted()
    run_steps(batch_id, StepName.INITIAL_STATE)
    row = send_transaction(batch_id)
    settle_costs(row, free=True)
    reopen(row)
    note_final(row)
    assert _counts() == {}
    row = SentTransaction.objects.get()
    row.mined_block, row.gas_used = 6_000_000, 170_480
    settle_costs(row, free=True)
    for _ in range(2):
        note_final(row)
    assert _counts() == {"gas": 170_480}


def test_workers_that_end_batches_at_once_count_each_of_them() -> None:
    """Two for each batch: one ends it, and the other one finds it ended."""
    batches = [_submitted(accounts=2) for _ in range(12)]
    keys = {batch_id: _queries(batch_id) for batch_id in batches}
    row = send_transaction(batches[0])

    def work(number: int) -> None:
        batch_id = batches[number % 12]
        if number % 12 < 4:
            transitions.reject([batch_id, batches[(number + 1) % 4]], FAILURE)
        else:
            _finish(keys[batch_id])
        settle_costs(SentTransaction.objects.get(pk=row.pk), free=True)
        note_final(SentTransaction.objects.get(pk=row.pk))

    all_at_once(work, 24)
    assert BlockJob.objects.count() == 1
    assert _counts() == {
        "batches_rejected": 4,
        "batches_done": 8,
        "done_within_5": 8,
        "facts": 32,
        "gas": 170_480,
    }


def test_days_are_read_with_those_that_brought_nothing() -> None:
    now = datetime.now(UTC)
    for days, amounts in ((40, {"facts": 7, "batches_done": 1}), (1, {"facts": 3, "gas": 9})):
        counters.count(now - timedelta(days=days), amounts)
    read = figures(now.date())
    assert read.whole == Brought(done=1, rejected=0, facts=10, gas=9)
    assert len(read.days) == 30
    assert [each.brought.facts for each in read.days][-3:] == [0, 3, 0]
    assert read.days[-1].day == now.date()


def test_a_service_without_a_past_has_a_week_of_nothing() -> None:
    read = figures(datetime.now(UTC).date())
    assert (read.empty, len(read.days), within_which(read.took, 0.5)) == (True, 7, 5)
