"""What queries are told to have cost is together what their batch has spent."""

import pytest
from django.db import transaction

from queries import transitions
from queries.models import BlockJob, Query, SentTransaction, TransactionOfJob
from queries.pipeline.costs import costs_of, settle_costs
from tests.queries.api.served_api import HERE, SEPOLIA, ask, make_key, submitted
from tests.queries.api.worked_batches import BEGIN

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

FEE, GAS, DATA_FEE = 1_000, 400, 350  # the last one was 200 when the fee was held back
ACCOUNTS = {f"0x{number:040x}": {"props": ["BALANCE"]} for number in (1, 2, 3)}
BATCH = {
    "destinationChainId": str(SEPOLIA),
    "fee": str(FEE),
    "data": {str(SEPOLIA): {f"block:{block}": {"accounts": ACCOUNTS} for block in (7, 8)}},
}


def _mined(job: BlockJob, shares: dict[str, dict[str, int]]) -> SentTransaction:
    """At one wei a gas."""
    row = SentTransaction.objects.create(
        chain=SEPOLIA,
        sender="0x" + 40 * "a",
        nonce=job.block,
        raw=b"\x02",
        max_fee=f"{1:064x}",
        most=f"{GAS:064x}",
        gas_limit=GAS,
        shares=shares,
        signed=BEGIN,
        mined_block=9,
        gas_used=GAS,
        gas_price=f"{1:064x}",
        data_fee=f"{DATA_FEE:064x}",
    )
    TransactionOfJob.objects.create(job=job, transaction=row)
    return row


@pytest.mark.parametrize("free", [False, True])
def test_they_cost_together_what_the_batch_has_spent(*, free: bool) -> None:
    """Also where more is taken for an L1 than was held back: no batch bears more than its fee."""
    key = make_key()
    batch = submitted(key, BATCH)
    jobs = []
    for block in (7, 8):
        job = BlockJob.objects.create(source=SEPOLIA, destination=SEPOLIA, block=block)
        queries = Query.objects.filter(batch=batch, block=block)
        queries.update(job=job)
        keys = list(queries.order_by("pk").values_list("pk", flat=True))
        weights = {str(pk): 1 + place for place, pk in enumerate(keys)}
        settle_costs(_mined(job, {batch: weights}), free=free)
        jobs.append(job)
    for job in jobs:
        ended = Query.objects.filter(job=job).values_list("pk", flat=True)
        with transaction.atomic():
            costs = costs_of(job, free=free)
            transitions.finish({pk: {"BALANCE": 64 * "0"} for pk in ended}, costs)
    told = ask(key, "/batch-query-status", batchQueryId=batch).json()
    costs_told = [int(query["cost"]) for query in told["queries"]]
    paid = 2 * (GAS + DATA_FEE)
    assert told["queryStatus"] == "DONE"
    assert sum(costs_told) == int(told["spent"]) == (paid if free else FEE)
    first, second = costs_told[:3], costs_told[3:]
    assert sum(first) == paid // 2
    assert first == sorted(first)
    assert second == sorted(second)
