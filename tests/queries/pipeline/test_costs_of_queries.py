"""What queries are told to have cost is together what their batch has spent."""

import pytest

from queries import transitions
from queries.models import Batch, BlockJob, Query, SentTransaction, TransactionOfJob
from queries.pipeline.costs import settle_costs
from queries.statuses import StepName
from queries.transitions import Failure
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


def _with_jobs(batch: str) -> list[SentTransaction]:
    """One for each of its two blocks, that is mined and not settled yet."""
    rows = []
    for block in (7, 8):
        job = BlockJob.objects.create(source=SEPOLIA, destination=SEPOLIA, block=block)
        queries = Query.objects.filter(batch=batch, block=block)
        queries.update(job=job)
        keys = list(queries.order_by("pk").values_list("pk", flat=True))
        rows.append(_mined(job, {batch: {str(pk): 1 + place for place, pk in enumerate(keys)}}))
    return rows


def _finish(batch: str) -> None:
    ended = Query.objects.filter(batch=batch).values_list("pk", flat=True)
    transitions.finish({pk: {"BALANCE": 64 * "0"} for pk in ended})


def _told(key: str, batch: str) -> tuple[int, list[int]]:
    """What it has spent, and what its queries have cost."""
    told = ask(key, "/batch-query-status", batchQueryId=batch).json()
    return int(told["spent"]), [int(query["cost"] or 0) for query in told["queries"]]


@pytest.mark.parametrize("first", [True, False], ids=["settled first", "done first"])
@pytest.mark.parametrize("free", [False, True])
def test_they_cost_together_what_the_batch_has_spent(*, free: bool, first: bool) -> None:
    """Also where more is taken for an L1 than was held back: no batch bears more than its fee."""
    key = make_key()
    batch = submitted(key, BATCH)
    rows = _with_jobs(batch)
    if not first:
        _finish(batch)
        assert _told(key, batch) == (0, 6 * [0])
    for row in rows:
        settle_costs(row, free=free)
        spent, costs = _told(key, batch)
        assert sum(costs) == spent
    if first:
        _finish(batch)
    spent, costs = _told(key, batch)
    paid = 2 * (GAS + DATA_FEE)
    assert Batch.objects.get().status == "DONE"
    assert sum(costs) == spent == (paid if free else FEE)
    assert sum(costs[:3]) == paid // 2
    assert costs[:3] == sorted(costs[:3])
    assert costs[3:] == sorted(costs[3:])


def test_what_is_settled_anew_takes_the_place_of_what_they_cost() -> None:
    key = make_key()
    batch = submitted(key, BATCH)
    rows = _with_jobs(batch)
    _finish(batch)
    for row in rows:
        settle_costs(row, free=False)
    one = rows[0]
    for gas in (GAS // 4, GAS, 1):
        SentTransaction.objects.filter(pk=one.pk).update(settled=False)
        one.gas_used = gas
        settle_costs(one, free=False)
        spent, costs = _told(key, batch)
        borne = FEE - GAS - DATA_FEE  # of the other one, with which the fee was used up
        assert sum(costs[3:]) == borne
        assert sum(costs) == spent == min(gas + DATA_FEE, FEE - borne) + borne


def test_what_was_spent_on_a_rejected_batch_is_what_its_queries_cost() -> None:
    key = make_key()
    batch = submitted(key, BATCH)
    rows = _with_jobs(batch)
    failure = Failure("block_out_of_reach", "…", StepName.BLOCKHASH_AVAILABLE, retryable=False)
    transitions.reject([batch], failure)
    settle_costs(rows[0], free=False)
    spent, costs = _told(key, batch)
    assert sum(costs) == spent == GAS + DATA_FEE
