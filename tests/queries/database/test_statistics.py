"""Events are counted once per day, in their own transaction."""

import pytest
from django.db.models import Sum

from queries import transitions
from queries.database import statistics
from queries.facts import facts_of
from queries.models import BlockJob, DailyCount, Query
from queries.proving.keccak import number_word
from queries.statuses import StepName
from queries.transitions import Failure
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, submitted

FAILURE = Failure("out_of_reach", "Too far.", StepName.BLOCKHASH_AVAILABLE, retryable=False)
ROUTE_FACTS = statistics.route_facts_key(SEPOLIA, SEPOLIA)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]


def _submitted(accounts: int = 1) -> str:
    accounts_ = {
        f"0x{number + 1:040x}": {"props": ["BALANCE"], "slots": ["0x1"]}
        for number in range(accounts)
    }
    data = {str(SEPOLIA): {"block:5186021": {"accounts": accounts_}}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    return submitted(make_key(), content)


def _queries(batch_id: str) -> list[int]:
    return list(Query.objects.filter(batch=batch_id).order_by("pk").values_list("pk", flat=True))


def _finish(keys: list[int]) -> None:
    queries = Query.objects.filter(pk__in=keys)
    words = {fact: number_word(0) for query in queries for fact in facts_of(query).values()}
    job, _ = BlockJob.objects.get_or_create(source=SEPOLIA, destination=SEPOLIA, block=5_186_021)
    queries.update(job=job)
    transitions.finish(job, keys, words)


def _counts() -> dict[str, int]:
    """All counts except durations, summed over days because a test may run at midnight."""
    rows = DailyCount.objects.exclude(name=statistics.DONE_SECONDS)
    return dict(rows.values_list("name").annotate(Sum("amount")))


def test_done_batches_and_their_facts_are_counted_once() -> None:
    batch_id = _submitted(accounts=3)
    first, *rest = _queries(batch_id)
    _finish([first])
    assert _counts() == {"facts": 2, ROUTE_FACTS: 2}
    _finish([first, *rest])
    assert _counts() == {"facts": 6, ROUTE_FACTS: 6, "batches_done": 1, "done_within_5": 1}
    _finish([first, *rest])
    transitions.reject([batch_id], FAILURE)
    assert _counts() == {"facts": 6, ROUTE_FACTS: 6, "batches_done": 1, "done_within_5": 1}


def test_a_rejected_batch_is_counted_once() -> None:
    batch_id = _submitted()
    for _ in range(2):
        transitions.reject([batch_id], FAILURE)
    _finish(_queries(batch_id))
    assert _counts() == {"batches_rejected": 1}
