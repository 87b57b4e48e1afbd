"""Server and prover are restarted under load: behind the documented proxy no request fails."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests

from tests.commands import Manage, free_port
from tests.installation import Prepared, prepared, proving
from tests.own_database import own_database
from tests.proxy import proxied
from tests.served import served
from tests.visitors import visitors

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

RESTARTS = 1
BLOCKS = 10  # so few that most are asked for again when they are proven
READERS, PAUSE = 2, 0.05
MANY = {"REQUESTS_PER_MINUTE": "1000000", "LOG_LEVEL": "WARNING"}
BODIES = True  # of eth_getBlockByNumber
COUNT = "from queries.models import Batch; print(Batch.objects.count())"


def test_no_request_fails_and_no_batch_is_lost_or_doubled(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    """Without an Idempotency-Key: a batch that was accepted twice would be counted twice."""
    port = str(free_port())
    with (
        own_database(tmp_path, "restarts") as url,
        prepared(tmp_path, manage, BLOCKS + 9, DATABASE_URL=url, **MANY) as it,
        proxied(repository, tmp_path, f"127.0.0.1:{port}") as address,
    ):
        again = ExitStack()
        with again:
            with (
                visitors(address, it.key, it.node, BLOCKS) as them,
                _readers(address) as statuses,
            ):
                for _ in range(1 + RESTARTS):
                    again.close()  # each ends with code 0 when it is told to, or this fails
                    again.enter_context(proving(repository, tmp_path, it.settings))
                    again.enter_context(
                        served(
                            repository,
                            tmp_path,
                            workers="2",
                            port=port,
                            BEHIND_PROXY="1",
                            **it.settings,
                        )
                    )
                    time.sleep(2)
            assert them.statuses() == {"DONE"}
        counted = manage("shell", "--verbosity", "0", "-c", COUNT, **it.settings).stdout
        _assert_each_fact_is_paid_once(it)
    assert them.broken == []
    assert them.refused == them.cut == 0
    assert set(statuses) == {200}
    assert len(statuses) > 10 * RESTARTS
    assert len(set(them.accepted.values())) == len(them.accepted) > 10 * RESTARTS
    assert int(counted) == len(them.accepted)


@contextmanager
def _readers(address: str) -> Iterator[list[int]]:
    """The status of every page that is read inside, again and again."""
    ended, statuses = threading.Event(), list[int]()

    def read() -> None:
        while not ended.wait(PAUSE):
            page = requests.get(f"{address}/explorer/batches", timeout=60)
            statuses.append(page.status_code)

    with ThreadPoolExecutor(READERS) as threads:
        reading = [threads.submit(read) for _ in range(READERS)]
        try:
            yield statuses
        finally:
            ended.set()
        for each in reading:
            each.result()


def _assert_each_fact_is_paid_once(it: Prepared) -> None:
    """Each transaction has proven something new: the registry logs nothing else."""
    ask = it.node.rpc.ask
    newest = int(ask("eth_blockNumber"), 16)
    every = (ask("eth_getBlockByNumber", hex(number), BODIES) for number in range(newest + 1))
    sent = [each for block in every for each in block["transactions"] if each["to"]]
    ours = [each["hash"] for each in sent if each["to"].lower() == it.registry.lower()]
    receipts = [ask("eth_getTransactionReceipt", each) for each in ours]
    assert {each["status"] for each in receipts} == {"0x1"}
    assert all(each["logs"] for each in receipts)
