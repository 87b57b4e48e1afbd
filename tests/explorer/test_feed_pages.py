"""The page of a feed, the account's own feeds, and the forms that change one."""

import time
from typing import Any

import pytest
from django.test import Client

from queries.database.clock import shared_now
from queries.feeds.run import submit_due_runs
from queries.models import Batch, ChainRecord, Feed, FeedRun
from queries.statuses import DeliveryState
from tests.explorer.batch_form import signed_in
from tests.explorer.page_text import page_text, visible_text
from tests.explorer.stored_batches import ADDRESS, prove, send_delivery, set_delivery
from tests.queries.api.served_api import HERE, ROUTES, SEPOLIA, made_feed, make_key, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

HEAD, EVERY = 5_186_021, 10
FIRST_DUE = 5_186_030
CONTRACT = "0x1111111111111111111111111111111111111111"
UPDATE = {"to": CONTRACT, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
UNKNOWN_ID = "01J2VM6JSA6VKKZ0ENWGYYPR18"


@pytest.fixture(autouse=True)
def head() -> None:
    record_head(SEPOLIA, number=HEAD, timestamp=int(time.time()))
    ChainRecord.objects.update(block_seconds=12.0)


def feed_body(block: object = None, every: object = None, **more: Any) -> dict[str, Any]:
    """The body of a feed of a balance, which delivers it."""
    block = block or {"accounts": {ADDRESS: {"props": ["BALANCE"]}}}
    every = every or {"blocks": EVERY}
    key = "block:$due" if every == {"blocks": EVERY} else "timestamp:$due"
    batch = {
        "destinationChainId": str(SEPOLIA),
        "fee": "100000",
        "data": {str(SEPOLIA): {key: block}},
    }
    return {"every": every, "batch": batch | {"deliver": [UPDATE]} | more.pop("batch", {}), **more}


def run(feed: str, count: int = 1) -> list[str]:
    """Submit so many runs, as the chain grows; return their batches' ids."""
    for _ in range(count):
        ChainRecord.objects.update(number=Feed.objects.get(pk=feed).due_block)
        submit_due_runs(ROUTES, [SEPOLIA])
    runs = FeedRun.objects.filter(feed=feed).order_by("-due")[:count]
    return [row.batch_id or "" for row in runs][::-1]


def succeed(batch_id: str, nonce: int) -> str:
    """Prove the batch and deliver it; return the hash of the delivery's transaction."""
    prove(batch_id)
    hash_ = send_delivery(batch_id, 0, nonce=nonce)
    set_delivery(batch_id, 0, DeliveryState.DELIVERED, ended_at=shared_now())
    Batch.objects.filter(pk=batch_id).update(spent=f"{45_210 * 10**9:064x}")
    return hash_


def fail(batch_id: str) -> None:
    reason = {"error_code": "contract_refuses", "error_sentence": "The contract reverts: too late."}
    prove(batch_id)
    set_delivery(batch_id, 0, DeliveryState.FAILED, ended_at=shared_now(), **reason)


def page(feed: str, client: Client | None = None) -> str:
    return page_text(f"/explorer/feed/{feed}", client)


def test_a_feed_says_what_it_repeats_and_when_it_runs_next() -> None:
    webhook = {"url": "https://hook.example/x", "headers": {"Authorization": "Bearer hunter2"}}
    feed = made_feed(make_key(), feed_body(batch={"webhook": webhook}, budget="250000"))
    words = page(feed)
    assert "balance of 0xd8dA…6045 · Sepolia, every 10 blocks ACTIVE" in words
    assert "next run block 5,186,030 · 9 blocks left, about 2 minutes" in words
    assert "budget 0 of 0.00025 gwei spent or reserved in the last 24 hours" in words
    assert "delivers update(uint256) of 0x1111…1111" in words
    assert "It has not run yet." in words
    for client in (Client(), signed_in()):
        html = client.get(f"/explorer/feed/{feed}").text
        assert "hook.example" not in html
        assert "hunter2" not in html


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (604_800, "every week"),
        (14_400, "every 4 hours"),
        (5_400, "every 90 minutes"),
        (61, "every 61 seconds"),
    ],
)
def test_an_interval_of_time_is_named_in_its_largest_unit(seconds: int, words: str) -> None:
    feed = made_feed(make_key(), feed_body(every={"seconds": seconds}))
    due = int(Feed.objects.get(pk=feed).due_at.timestamp())  # type: ignore[union-attr]
    assert f"· Sepolia, {words} ACTIVE" in page(feed)
    assert time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(due)) in page(feed)


def test_runs_are_listed_with_values_deliveries_and_costs() -> None:
    feed = made_feed(make_key(), feed_body())
    first, second, third = run(feed, 3)
    hash_ = succeed(first, nonce=7)
    fail(second)
    words = page(feed)
    assert "newest value at block 5,186,040" in words
    assert "1 of 2 runs succeeded of the newest" in words.replace(
        "runs succeeded of the newest 1 of 2", "1 of 2 runs succeeded of the newest"
    )
    html = Client().get(f"/explorer/feed/{feed}").text
    rows = [visible_text(row) for row in html.partition("feed-runs")[2].split("<tr>")[2:]]
    assert rows[0].startswith("5,186,050 RECEIVED")
    assert rows[1].startswith("5,186,040 DONE 40 ETH")
    assert " delivery failed " in rows[1]
    assert rows[2].startswith("5,186,030 DONE 30 ETH")
    assert " delivered 0x0000…0007" in rows[2]
    assert " 45,210 0.000045 ETH " in rows[2]
    assert f'href="/explorer/transaction/{SEPOLIA}/{hash_}"' in html
    assert f'href="/explorer/query/{third}"' in html
    assert (
        f'a run of <a href="/explorer/feed/{feed}">'
        in Client().get(f"/explorer/query/{first}").text
    )
