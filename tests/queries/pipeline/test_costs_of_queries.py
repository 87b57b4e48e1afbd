"""What queries are told to have cost is together what their batch has spent."""

import pytest

from queries import transitions
from queries.models import Batch, BlockJob, Query, SentTransaction, Share, TransactionOfJob
from queries.pipeline.fees import settle_costs
from tests.queries.api.served_api import HERE, SEPOLIA, ask, make_key, submitted
from tests.queries.api.worked_batches import BEGIN

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

FEE, GAS, DATA_FEE, MOST = 2_000, 400, 350, 900
ACCOUNTS = {f"0x{number:040x}": {"props": ["BALANCE"]} for number in (1, 2, 3)}
BATCH = {
    "destinationChainId": str(SEPOLIA),
    "fee": str(FEE),
    "data": {str(SEPOLIA): {f"block:{block}": {"accounts": ACCOUNTS} for block in (7, 8)}},
}


def _mined(job: BlockJob, batch: str) -> SentTransaction:
    """At one wei a gas."""
    row = SentTransaction.objects.create(
        chain=SEPOLIA,
        sender="0x" + 40 * "a",
        nonce=job.block,
        raw=b"\x02",
        max_fee=f"{1:064x}",
        most=f"{MOST:064x}",
        gas_limit=GAS,
        signed=BEGIN,
        mined_block=9,
        gas_used=GAS,
        gas_price=f"{1:064x}",
        data_fee=f"{DATA_FEE:064x}",
    )
    TransactionOfJob.objects.create(job=job, transaction=row)
    Share.objects.create(transaction=row, batch_id=batch, most=f"{MOST:064x}")
    return row


def _with_jobs(batch: str) -> list[SentTransaction]:
    """One for each of its two blocks, that is mined and not settled yet."""
    rows = []
    for block in (7, 8):
        job = BlockJob.objects.create(source=SEPOLIA, destination=SEPOLIA, block=block)
        Query.objects.filter(batch=batch, block=block).update(job=job)
        rows.append(_mined(job, batch))
    return rows


def _finish(batch: str) -> None:
    ended = Query.objects.filter(batch=batch).values_list("pk", flat=True)
    transitions.finish({pk: {"BALANCE": 64 * "0"} for pk in ended})


def _told(key: str, batch: str) -> tuple[int, list[int]]:
    """What it has spent, and what its queries have cost."""
    told = ask(key, "/batch-query-status", batchQueryId=batch).json()
    return int(told["spent"]), [int(query["cost"] or 0) for query in told["queries"]]


@pytest.mark.parametrize("first", [True, False], ids=["settled first", "done first"])
def test_they_cost_together_what_the_batch_has_spent(*, first: bool) -> None:
    key = make_key()
    batch = submitted(key, BATCH)
    rows = _with_jobs(batch)
    if not first:
        _finish(batch)
        assert _told(key, batch) == (0, 6 * [0])
    for row in rows:
        settle_costs(row, free=False)
        spent, costs = _told(key, batch)
        assert sum(costs) == spent
    if first:
        _finish(batch)
    spent, costs = _told(key, batch)
    assert Batch.objects.get().status == "DONE"
    assert spent == sum(costs) == 2 * (GAS + DATA_FEE)
    assert set(costs) == {(GAS + DATA_FEE) // 3}


@pytest.mark.parametrize("free", [False, True])
def test_what_is_settled_again_takes_the_place_of_what_was_paid(*, free: bool) -> None:
    """The operator pays what it costs beyond the fee."""
    key = make_key()
    batch = submitted(key, BATCH)
    rows = _with_jobs(batch)
    _finish(batch)
    for row in rows:
        settle_costs(row, free=free)
    one = rows[0]
    for gas in (GAS // 4, 10 * GAS, 1):
        SentTransaction.objects.filter(pk=one.pk).update(settled=False)
        one.gas_used = gas
        settle_costs(one, free=free)
        spent, costs = _told(key, batch)
        most = gas + DATA_FEE if free else FEE - GAS - DATA_FEE
        assert sum(costs[:3]) == min(gas + DATA_FEE, most)
        assert sum(costs[3:]) == GAS + DATA_FEE
        assert spent == sum(costs)
