"""Workers that prove blocks of the same batches at once do not get in each other's way."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from eth_account import Account as Key

from queries.engines import PROVE
from queries.models import Batch
from queries.prover.handlers import work_once
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS, BATCHES, BLOCKS = 4, 30, 7


@pytest.mark.parametrize("_round", range(2))
def test_jobs_of_the_same_batches_do_not_deadlock(
    service: Service, caplog: pytest.LogCaptureFixture, _round: int
) -> None:
    service.mine(12)
    service.context().head(CHAIN_ID)  # stored: otherwise the blocks would be refused
    head = service.head() - 2
    for batch in range(BATCHES):
        accounts = {key: {"props": ["BALANCE"]} for key in (HOLDER, Key.create().address)}
        blocks = [f"block:{head - (batch + block) % BLOCKS}" for block in range(3)]
        service.submit({str(CHAIN_ID): {block: {"accounts": accounts} for block in blocks}})
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(_work_until_done, WORKERS * [service]))
    assert set(Batch.objects.values_list("status", flat=True)) == {"DONE"}
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def _work_until_done(service: Service) -> None:
    context, deadline = service.context(), time.monotonic() + 60
    while Batch.objects.filter(ended_at=None).exists() and time.monotonic() < deadline:
        if not work_once(PROVE, context):
            time.sleep(0.02)
    context.close()
    connections.close_all()
