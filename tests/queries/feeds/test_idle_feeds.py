"""What feeds cost that do not run: one query a poll, by an index, and a few calls a minute."""

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account
from accounts.wallets import Wallet
from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.config.limits import Limits
from queries.feeds.follow import follow_source
from queries.feeds.scheduled_runs import insert_scheduled_runs
from queries.ids import is_ulid
from queries.models import ChainRecord, Feed
from queries.statuses import CatchUp, FeedState
from tests.queries.api.served_api import SEPOLIA, WALLET, record_head
from tests.queries.prover.service import CHAIN_ID
from tests.rigs.faulty_node import Relay, chain_with_nodes

pytestmark = pytest.mark.django_db
HEAD, COUNT = 1_000, 1_000


@pytest.fixture(autouse=True)
def feeds() -> None:
    """Half by time and half by block; some are due, but paused or ended."""
    now = timezone.now()
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(WALLET))
    record_head(SEPOLIA, number=HEAD, timestamp=int(now.timestamp()))
    rows = []
    for number in range(COUNT):
        is_idle = number % 20 > 1
        distance = 10 if is_idle else -10
        state = FeedState.ACTIVE if is_idle else FeedState.PAUSED
        is_time = number % 2 == 0
        row = Feed(
            id=f"01J2VM6JSA6VKKZ0ENWGY{number:05}", owner=owner, request="{}", source=SEPOLIA,
            trigger="SECONDS" if is_time else "BLOCKS", interval=100,
            due=(int(now.timestamp()) if is_time else HEAD) + distance, catch_up=CatchUp.LATEST,
            state=state, created_at=now, resumed_at=now,
        )  # fmt: skip
        assert is_ulid(row.pk)
        rows.append(row)
    Feed.objects.bulk_create(rows)


def test_a_poll_reads_a_thousand_idle_feeds_with_one_query(
    django_assert_num_queries: Callable[[int], AbstractContextManager[CaptureQueriesContext]],
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    record = ChainRecord.objects.get(chain=SEPOLIA)
    with django_assert_num_queries(1) as queries:
        insert_scheduled_runs(record)
    sql = queries.captured_queries[-1]["sql"]
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # it would rather scan so few rows
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"{explain} {sql}")
        plan = "\n".join(str(row) for row in cursor.fetchall())
    assert "queries_feed_due" in plan, plan


TRANSFER = "Transfer(address indexed,address indexed,uint256)"
MAX_LOOK_SECONDS = 0.3  # of the processor, each minute


def trigger(number: int) -> tuple[str, dict[str, Any]]:
    """Half wait for a log of a contract of their own, half for a balance of their own."""
    address = f"0x{number:040x}"
    if number % 2:
        return "LOGS", {"on": {"address": address, "event": TRANSFER}}
    return "VALUE", {"when": {"value": f"{address}.BALANCE", "every": "1 block"}}


def test_a_minute_of_a_thousand_idle_feeds(shared_node: LocalNode) -> None:
    owner, source, now = Account.objects.get(), CHAIN_ID, timezone.now()
    head = int(shared_node.rpc.ask("eth_blockNumber"), 16)
    shared_node.rpc.ask("evm_mine")
    record_head(source, number=head, timestamp=int(now.timestamp()))
    rows = []
    for number in range(1, COUNT + 1):
        kind, request = trigger(number)
        row = Feed(
            id=f"01J2VM6JSA6VKKZ0ENWGZ{number:05}", owner=owner, source=source, trigger=kind,
            request=json.dumps(request), due=head, last_value=f"{0:064x}",
            catch_up=CatchUp.LATEST, created_at=now, resumed_at=now,
        )  # fmt: skip
        rows.append(row)
    Feed.objects.bulk_create(rows)
    limits = replace(Limits(), max_batch_calls=COUNT)
    with closing(Relay(shared_node.url)) as node:
        client = ChainClient(chain_with_nodes(node.url, chain_id=source, limits=limits))
        for head_now in (head, head + 1):  # at first, all requests are parsed
            Feed.objects.filter(source=source).update(due=head, next_attempt_at=None)
            ChainRecord.objects.filter(chain=source).update(number=head_now, feeds_read_at=None)
            node.log.requests.clear()
            start = time.thread_time()
            for _ in range(3):  # polls of a minute
                follow_source(client)
            used = time.thread_time() - start
        client.close()
    requests = [sorted(set(methods)) for methods in node.log.requests]
    assert sorted(requests) == [["eth_getBalance"], ["eth_getLogs"]]
    assert used < MAX_LOOK_SECONDS
