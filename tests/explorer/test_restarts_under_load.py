"""Server and prover are restarted while batches come: none is lost, and none is done twice."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos.brought_again import brought_again
from tests.chaos.evidence import Chain
from tests.commands import Manage, free_port
from tests.installation import Prepared, prepared, proving
from tests.own_database import own_database
from tests.served import served
from tests.visitors import visitors

pytestmark = pytest.mark.django_db

RESTARTS = 2
BLOCKS = 10  # so few that most are asked for again when they are proven
MANY = {"REQUESTS_PER_MINUTE": "1000000", "LOG_LEVEL": "WARNING"}
COUNT = "from queries.models import Batch; print(Batch.objects.count())"


def test_no_batch_is_lost_and_none_is_doubled(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    """Each server and prover ends with code 0 when it is told to: else its own block fails.

    Without an Idempotency-Key: a batch that was taken and never answered comes a second time.
    """
    port = str(free_port())
    with (
        own_database(tmp_path, "restarts") as url,
        prepared(tmp_path, manage, BLOCKS + 9, DATABASE_URL=url, **MANY) as it,
    ):
        again = ExitStack()
        with again:
            address = f"http://127.0.0.1:{port}"
            with visitors(address, it.key, it.node, careful=False, blocks=BLOCKS) as them:
                for _ in range(RESTARTS):
                    again.enter_context(proving(repository, tmp_path, it.settings))
                    again.enter_context(
                        served(repository, tmp_path, workers="2", port=port, **it.settings)
                    )
                    time.sleep(2)
                    again.close()
                again.enter_context(proving(repository, tmp_path, it.settings))
                again.enter_context(served(repository, tmp_path, port=port, **it.settings))
            assert them.statuses() == {"DONE"}
        counted = manage("shell", "--verbosity", "0", "-c", COUNT, **it.settings).stdout
        _assert_each_fact_is_paid_once(it)
    assert them.broken == []
    assert them.cut == 0
    assert them.refused  # or nothing was restarted while they came
    assert len(set(them.accepted.values())) == len(them.accepted) > 10 * RESTARTS
    assert int(counted) == len(them.accepted)


def _assert_each_fact_is_paid_once(it: Prepared) -> None:
    """By the calldata of all that the registry was sent: its events tell only of what was new."""
    chain = Chain(it.node.url)
    newest = int(chain.ask("eth_blockNumber"), 16)
    every = [("eth_getBlockByNumber", [hex(number), True]) for number in range(newest + 1)]
    sent = [
        transaction
        for block in chain.ask_many(every)
        for transaction in block["transactions"]
        if transaction["to"] and transaction["to"].lower() == it.registry.lower()
    ]
    receipts = chain.ask_many([("eth_getTransactionReceipt", [each["hash"]]) for each in sent])
    assert {each["status"] for each in receipts} == {"0x1"}
    assert all(each["logs"] for each in receipts)
    assert not list(brought_again(chain, sent))
