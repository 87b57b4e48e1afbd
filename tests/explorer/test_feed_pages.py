"""The page of a feed, own feeds, and the forms that change one."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from ulid import ULID

from queries.database.clock import shared_now
from queries.feeds.bodies import DueRun
from queries.feeds.outcomes import MAX_FAILED_RUNS
from queries.feeds.runs import NewRun, insert_runs
from queries.models import Batch, ChainRecord, Feed, FeedRun
from queries.selectors import Selector
from queries.statuses import BatchStatus, DeliveryState, FeedState
from queries.wait_reasons import WaitCode
from tests.explorer.batch_form import signed_in
from tests.explorer.page_text import page_text, visible_text
from tests.explorer.stored_batches import (
    ADDRESS,
    ETHER,
    prove,
    send_delivery,
    set_delivery,
    set_word,
    update_queries,
)
from tests.queries.api.served_api import (
    HERE,
    OTHER_WALLET,
    SEPOLIA,
    ask,
    made_feed,
    make_key,
    record_head,
)
from tests.queries.feeds.running import submit_due_runs

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
    key = "timestamp:$due" if every else "block:$due"
    every = every or f"{EVERY} blocks"
    batch = {
        "destinationChainId": str(SEPOLIA),
        "fee": "100000",
        "data": {str(SEPOLIA): {key: block}},
    }
    return {"every": every, "batch": batch | {"deliver": [UPDATE]} | more.pop("batch", {}), **more}


def run(feed: str, count: int = 1) -> list[str]:
    """Submit so many runs, as the chain grows; return their batches' ids."""
    for _ in range(count):
        ChainRecord.objects.update(number=Feed.objects.get(pk=feed).due)
        submit_due_runs()
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
    assert "next run in 9 blocks, about 2 minutes · block 5,186,030" in words
    assert "budget 0 of 0.00025 gwei spent or reserved in the last 24 hours" in words
    assert "delivers update(uint256) of 0x1111…1111" in words
    assert "It has not run yet." in words
    for client in (Client(), signed_in()):
        text = client.get(f"/explorer/feed/{feed}").text
        assert "hook.example" not in text
        assert "hunter2" not in text


@pytest.mark.parametrize("every", ["week", "4 hours", "90 minutes"])
def test_an_interval_of_time(every: str) -> None:
    feed = made_feed(make_key(), feed_body(every=every.replace("week", "1 week")))
    due = Feed.objects.get(pk=feed).due
    assert f"· Sepolia, every {every} ACTIVE" in page(feed)
    assert time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(due)) in page(feed)


def test_a_feed_of_logs_and_one_of_a_changed_value_say_when_they_run() -> None:
    event = "event Sent(address indexed from, uint256 amount)"
    body = feed_body({"accounts": {"$topic1": {"props": ["BALANCE"]}}}, batch={"deliver": []})
    del body["every"]
    logs = made_feed(make_key(), body | {"on": {"address": CONTRACT, "event": event}})
    assert "balance of $from · Sepolia, for each Sent of 0x1111…1111 ACTIVE" in page(logs)
    assert "next run with the next log" in page(logs)
    slot = feed_body({"accounts": {CONTRACT: {"slots": ["$keccak($topic1, 3)"]}}})
    del slot["every"]
    slots = made_feed(make_key(), slot | {"on": {"address": CONTRACT, "event": event}})
    assert "slot $keccak($from, 3) of 0x1111…1111 · Sepolia, for each Sent" in page(slots)
    assert "Run now" not in page(logs, signed_in())
    body = feed_body()
    del body["every"]
    when = {"value": f"{ADDRESS}.BALANCE", "by": "50 bp", "every": "20 blocks"} | {
        "heartbeat": "1 week"
    }
    value = made_feed(make_key(), body | {"when": when})
    words = "when it changes by 50 bp, read every 20 blocks, and at least every week ACTIVE"
    assert words in page(value)
    assert "about 4 minutes, if the value has changed" in page(value)


def test_runs_are_listed_with_values_deliveries_and_costs() -> None:
    feed = made_feed(make_key(), feed_body())
    first, second, third = run(feed, 3)
    hash_ = succeed(first, nonce=7)
    fail(second)
    words = page(feed)
    assert "at block 5,186,040" in words
    assert "10 ETH more than at block 5,186,030" in words
    assert "delivered 1 failed, 1 to come 1 of 2" in words
    assert "of the newest runs succeeded 1 of 2" in words
    text = Client().get(f"/explorer/feed/{feed}").text
    rows = [visible_text(row) for row in text.partition("feed-runs")[2].split("<tr id=")[1:]]
    assert "5,186,050 RECEIVED" in rows[0]
    assert "5,186,040 DONE" in rows[1]
    assert " 40 ETH " in rows[1]
    assert " delivery failed The contract reverts: too late. " in rows[1]
    assert f"5,186,030 DONE …{first[-5:]} {first} 30 ETH" in rows[2]
    assert " delivered 0x0000…0007" in rows[2]
    assert " 45,210 0.000045 ETH " in rows[2]
    assert f'href="/explorer/transaction/{SEPOLIA}/{hash_}"' in text
    assert f'href="/explorer/query/{third}"' in text
    assert (
        f'a run of <a href="/explorer/feed/{feed}">'
        in Client().get(f"/explorer/query/{first}").text
    )


def test_a_run_without_a_batch_says_why() -> None:
    feed = made_feed(make_key(), feed_body())
    run(feed)
    FeedRun.objects.update(batch=None, error_code="too_many_facts", error_sentence="Too many <b>.")
    assert "5,186,030 refused Too many <b>. too_many_facts" in page(feed)
    assert "of the newest runs succeeded 0 of 1" in page(feed)


def test_values_are_drawn_by_block_and_older_runs_are_on_the_next_page() -> None:
    feed = made_feed(make_key(), feed_body({"header": ["GAS_USED"]}, batch={"deliver": []}))
    for number, batch_id in enumerate(run(feed, 32)):
        prove(batch_id)
        set_word(batch_id, "GAS_USED", 21_000 + number)
    text = Client().get(f"/explorer/feed/{feed}").text
    assert "Gas used rose by 31 from block 5,186,030 to 5,186,340" in text
    assert text.count('<circle class="dot') == 32  # also those of older pages
    assert "of the newest runs succeeded 30 of 30" in visible_text(text)
    (older,) = re.findall(r'href="(\?before=[^"]*)" rel="next"', text)
    words = page_text(f"/explorer/feed/{feed}{older}")
    assert "5,186,040 DONE" in words
    assert "5,186,050 DONE" not in words


def test_values_of_different_accounts_are_not_drawn_as_one_line() -> None:
    feed = made_feed(make_key(), feed_body())
    first, second = run(feed, 2)
    prove(first)
    prove(second)
    assert "Each dot is a run." in page(feed)
    update_queries(second, account=OTHER_WALLET)
    assert "Each dot is a run." not in page(feed)


def test_the_budget_counts_what_the_last_24_hours_reserve_and_have_spent() -> None:
    feed = made_feed(make_key(), feed_body(budget="250000"))
    first, *_ = run(feed, 2)
    assert "budget 0.0002 gwei of 0.00025 gwei spent or reserved" in page(feed)
    run(feed)
    assert "ACTIVE, waits" in page(feed)
    assert "does not fit the budget of 0.00025 gwei in 24 hours, of which 0.0002 gwei are" in page(
        feed
    )
    assert "next run waits for the budget" in page(feed)
    set_delivery(first, 0, DeliveryState.FAILED, ended_at=shared_now())
    Batch.objects.filter(pk=first).update(
        submitted_at=shared_now() - timedelta(days=2), status=BatchStatus.DONE
    )
    assert "budget 0.0001 gwei of 0.00025 gwei" in page(feed)


def refuse(batch_id: str, sentence: str = "The contract refuses the call: too late.") -> None:
    prove(batch_id)
    wait = {"wait_code": WaitCode.CONTRACT_REFUSES, "waits_for": sentence, "refusals": 1}
    set_delivery(batch_id, 0, DeliveryState.WAITING, **wait)


def test_refused_deliveries_are_part_of_the_state() -> None:
    feed, key = made_feed(make_key(), feed_body()), make_key()
    first, *others = run(feed, 4)
    succeed(first, nonce=1)
    for batch_id in others:
        refuse(batch_id)
    Batch.objects.filter(pk=others[0]).update(ended_at=datetime(2026, 5, 6, 3, 12, tzinfo=UTC))
    state = "ACTIVE, refused: 3 deliveries wait since 2026-05-06 03:12"
    for words in (page(feed), page_text("/dashboard/feeds", signed_in())):
        assert state in words
    assert "delivered 3 refused 1 of 4" in page(feed)
    assert state in page_text(f"/explorer/feed/{feed}/embed")
    refused = ask(key, f"/feeds/{feed}").json()["refused"]
    assert (refused["deliveries"], refused["since"][:16]) == (3, "2026-05-06T03:12")
    for batch_id in others:
        set_delivery(batch_id, 0, DeliveryState.DELIVERED, wait_code="", waits_for="")
    assert "refused" not in page(feed)
    assert ask(key, f"/feeds/{feed}").json()["refused"] is None


def test_equal_runs_are_folded() -> None:
    feed = made_feed(make_key(), feed_body())
    batches = run(feed, 6)
    error = {"batch": None, "error_code": "too_many_facts"}
    for number, batch_id in enumerate(batches[1:5]):
        row = FeedRun.objects.filter(batch=batch_id)
        row.update(error_sentence=f"Block {number} <b> is too much.", **error)
    words = page(feed)
    assert "4 runs refused 5,186,040 to 5,186,070: Block 3 <b> is too much. too_many_facts" in words
    assert "5,186,050 · " in words  # unfolded
    text = Client().get(f"/explorer/feed/{feed}").text
    assert len(re.findall("<tr id=.run-", text)) == 2
    assert text.count('class="equal-runs"') == 1


def test_a_name_is_the_title_and_the_owner_changes_it() -> None:
    feed, owner = made_feed(make_key(), feed_body(name="The <b>vault")), signed_in()
    words = page(feed)
    assert words.startswith("ACTIVE · The <b>vault · Tacitus")
    assert "The <b>vault ACTIVE" in words
    assert "balance of 0xd8dA…6045 · Sepolia, every 10 blocks" in words
    assert "The <b>vault" in page_text("/dashboard/feeds", owner)
    url = f"/dashboard/feeds/{feed}/rename"
    for name, sentence in (
        ("Nave", "The name is changed."),
        (61 * "x", "name has 61 characters, but must be a text of 1 to 60"),
        (" ", "The name is changed."),
    ):
        assert sentence in visible_text(owner.post(url, {"rename": name}, follow=True).text)
    assert Feed.objects.get(pk=feed).name == ""
    signed_in(OTHER_WALLET).post(url, {"rename": "Mine"})
    assert Feed.objects.get(pk=feed).name == ""


def value_feed(**when: str) -> str:
    """A feed of a balance, which was read as 40.12 ETH after a run at 40 ETH, 4,000 seconds ago."""
    body = feed_body()
    del body["every"]
    value = {"value": f"{ADDRESS}.BALANCE", "every": "20 blocks", **when}
    feed = made_feed(make_key(), body | {"when": value})
    new = DueRun(HEAD, Selector(HEAD), {"$due": str(HEAD)}, value=40 * ETHER)
    new = replace(new, read_time=int(time.time()) - 4_000)
    insert_runs([NewRun(Feed.objects.get(pk=feed), new)])
    submit_due_runs()
    Feed.objects.update(last_value=f"{40 * ETHER:064x}", open_run=None)
    Feed.objects.update(read_value=f"{40_125 * 10**15:064x}")
    return feed


def test_a_watched_value_shows_how_near_the_next_run_is() -> None:
    feed = value_feed(by="50 bp", heartbeat="4 hours")
    words = page(feed)
    assert "change 0.31 of 0.50 % heartbeat in 2 h 53 min" in words
    assert (
        "Read last: 40.125 ETH, 0.125 ETH more than the 40 ETH that it is compared with." in words
    )
    assert [*gauges(feed)] == [625, 277]
    Feed.objects.update(read_value=f"{50 * ETHER:064x}")
    assert "change 25.00 of 0.50 %" in page(feed)
    assert [*gauges(feed)] == [1000, 277]
    assert ask(make_key(), f"/feeds/{feed}").json()["readValue"] == str(50 * ETHER)
    Feed.objects.update(state=FeedState.PAUSED)
    assert "heartbeat in" not in page(feed)


def gauges(feed: str) -> Iterator[int]:
    text = Client().get(f"/explorer/feed/{feed}").text
    return map(int, re.findall(r'<rect class="used" width="(\d+)"', text))


def test_a_watched_amount_is_shown_in_its_unit() -> None:
    assert "change 0.125 of 0.5 ETH" in page(value_feed(by=f"{ETHER // 2}"))
    assert "change 0.125 ETH of 1 wei" in page(value_feed())


def test_the_api_calls_a_feed_as_its_page_does() -> None:
    event = "Transfer(address indexed from, address indexed to, uint256 value)"
    block = {"accounts": {"$topic2": {"props": ["BALANCE"]}}}
    body = feed_body(block, batch={"deliver": [], "destinationChainId": "SN_SEPOLIA"})
    del body["every"]
    for content in (feed_body(), body | {"on": {"address": CONTRACT, "event": event}}):
        feed = made_feed(owner := make_key(), content)
        answer = ask(owner, f"/feeds/{feed}").json()
        assert answer["sentence"] in page(feed)
        assert (answer["destinationChainId"], answer["coin"]) == (str(SEPOLIA), "ETH")
    assert answer["sentence"] == ("balance of $to · Sepolia, for each Transfer of 0x1111…1111")


def test_a_run_over_budget_says_when_it_goes_on() -> None:
    feed = made_feed(make_key(), feed_body(budget="250000"))
    first, second = run(feed, 2)
    for batch_id in (first, second):
        succeed(batch_id, nonce=int(batch_id == first))
        Batch.objects.filter(pk=batch_id).update(spent=f"{100_000:064x}")
    moment = shared_now() - timedelta(hours=23)
    Batch.objects.filter(pk=first).update(submitted_at=moment)
    run(feed)
    goes_on = (moment + timedelta(days=1)).strftime("%H:%M UTC")
    words = re.sub(r"about \d{4}-\d\d-\d\d ", "about ", page(feed))  # it may be tomorrow
    assert f"next run waits for the budget, goes on about {goes_on}" in words


def test_a_frame_can_be_embedded_anywhere() -> None:
    feed = made_feed(make_key(), feed_body(name="Vault <b>"))
    first, second = run(feed, 2)
    prove(first)
    prove(second)
    set_word(second, "BALANCE", 41 * ETHER)
    for client in (Client(), signed_in()):
        answer: Any = client.get(f"/explorer/feed/{feed}/embed")
        assert "X-Frame-Options" not in answer.headers
        assert "frame-ancestors *" in answer.headers["Content-Security-Policy"]
        assert not answer.cookies
        assert "<script" not in answer.text
        assert "<form" not in answer.text
        words = visible_text(answer.text)
        assert "Vault <b> 41 ETH Sepolia, block 5,186,040 · run " in words
        assert "ACTIVE native · trusts nobody" in words
        assert f'href="/explorer/feed/{feed}"' in answer.text
        assert 'd="M' in answer.text
    assert len(Client().get(f"/explorer/feed/{feed}/embed").content) < 5_000
    address = (
        f"/explorer/feed/{feed}/embed&quot; width" in Client().get(f"/explorer/feed/{feed}").text
    )
    assert address or f"/explorer/feed/{feed}/embed" in page(feed)
    other: Any = Client().get(f"/explorer/feed/{feed}")
    assert other.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in other.headers["Content-Security-Policy"]
    assert Client().get(f"/explorer/feed/{UNKNOWN_ID}/embed").status_code == 404


def test_files_have_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = made_feed(make_key(), feed_body())
    batches = run(feed, 3)
    for nonce, batch_id in enumerate(batches[:2]):
        prove(batch_id, nonce=nonce + 1)
    url = f"/explorer/feed/{feed}/values"
    rows = json.loads(Client().get(f"{url}.json").getvalue())
    assert [(row["block"], row["batch"]) for row in rows] == [
        ("5186040", batches[1]),
        ("5186030", batches[0]),
    ]
    row = rows[0]
    assert (row["value"], row["decoded"], row["account"]) == (str(40 * ETHER), "40 ETH", ADDRESS)
    assert row["block_time"] == "2025-11-04T05:01:20.000000Z"
    assert row["transaction"].startswith("0x")
    assert row["proven_at"].startswith("20")
    answer = Client().get(f"{url}.csv")
    lines = answer.getvalue().decode().splitlines()
    assert lines[0].split(",") == list(row)
    assert len(lines) == 3
    assert answer.headers["Content-Disposition"].endswith(f'"tacitus-feed-{feed}.csv"')
    monkeypatch.setattr("queries.reading.feed_values.MAX_VALUES", 1)
    link = Client().get(f"{url}.json").headers["Link"]
    older = link.partition("<")[2].partition(">")[0]
    assert [row["batch"] for row in json.loads(Client().get(older).getvalue())] == batches[:1]
    for path in (f"/explorer/feed/{UNKNOWN_ID}/values.csv", f"{url}.xml"):
        assert Client().get(path).status_code == 404


def test_a_long_life_is_thinned() -> None:
    feed = made_feed(make_key(), feed_body({"header": ["GAS_USED"]}, batch={"deliver": []}))
    for number, batch_id in enumerate(run(feed, 6)):
        prove(batch_id)
        set_word(batch_id, "GAS_USED", 21_000 + number)
    batches = list(FeedRun.objects.order_by("due").values_list("batch", flat=True))
    FeedRun.objects.all().delete()
    start = ULID().timestamp
    # The fifth run of every 40 has a value; the others have failed.
    FeedRun.objects.bulk_create(
        FeedRun(
            id=str(ULID.from_timestamp(start + number)), feed_id=feed, due=number,
            submitted_at=shared_now(), error_code="x",
            batch_id=batches[number // 40] if number % 40 == 5 else None,
        )
        for number in range(240)
    )  # fmt: skip
    text = Client().get(f"/explorer/feed/{feed}").text
    note = "The newest value of each of 120 equal spans of time. Gaps are failed runs."
    assert note in visible_text(text)
    assert "Gas used rose by 5 from block 5,186,030 to 5,186,080" in text
    (path,) = re.findall(r'class="curve" d="([^"]*)"', text)
    assert (path.count("M"), path.count("L")) == (6, 0)


def test_a_month_at_the_pace_of_the_feed() -> None:
    feed = made_feed(make_key(), feed_body())
    for nonce, batch_id in enumerate(run(feed, 2)):
        succeed(batch_id, nonce + 1)
    words = page(feed)
    assert "a run on average · 0.000045 ETH 45,210 gas" in words
    # 21,600 runs in 30 days
    assert "in 30 days at this pace, paid by this server 0.976536 ETH" in words


def test_the_owner_pauses_resumes_and_ends_a_feed() -> None:
    feed, owner = made_feed(make_key(), feed_body()), signed_in()
    for words in ("Pause", "End it for good"):
        assert words in page(feed, owner)
        assert words not in page(feed)
        assert words not in page(feed, signed_in(OTHER_WALLET))
    steps = [
        ("pause", "PAUSED", "The feed is paused."),
        ("resume", "ACTIVE", "The feed is active again."),
        ("end", "ENDED", "The feed has ended. Its batches stay."),
    ]
    for action, state, message in steps:
        answer = owner.post(f"/dashboard/feeds/{feed}/{action}", follow=True)
        assert answer.redirect_chain == [(f"/explorer/feed/{feed}", 302)]
        assert message in visible_text(answer.text)
        assert Feed.objects.get(pk=feed).state == state
    assert "End it for good" not in page(feed, owner)
    refused = owner.post(f"/dashboard/feeds/{feed}/resume", follow=True)
    assert refused.redirect_chain == [(f"/explorer/feed/{feed}", 302)]
    assert "This feed has ended: Its owner ended it." in visible_text(refused.text)


def test_the_owner_runs_a_feed_now() -> None:
    feed, owner = made_feed(make_key(), feed_body()), signed_in()
    answer = owner.post(f"/dashboard/feeds/{feed}/run", follow=True)
    words = visible_text(answer.text)
    assert "A run for the newest block is submitted." in words
    assert "5,186,021 RECEIVED" in words
    again = visible_text(owner.post(f"/dashboard/feeds/{feed}/run", follow=True).text)
    assert "The newest block has a run already." in again
    assert "is submitted." not in again


def test_the_owner_changes_the_budget() -> None:
    feed, owner = made_feed(make_key(), feed_body()), signed_in()
    assert "Change the budget" in page(feed, owner)
    assert "Change the budget" not in page(feed)
    url = f"/dashboard/feeds/{feed}/budget"
    for text, budget in (
        ("0.01", 10**16),
        (" 0.010 ETH", 10**16),
        ("1", 10**18),
        ("0.000000000000250001 eth", 250_001),
        ("1.5 gwei", 1_500_000_000),
        ("250000 wei", 250_000),
    ):
        answer = owner.post(url, {"budget": text}, follow=True)
        assert "The budget is changed." in visible_text(answer.text)
        assert int(Feed.objects.get(pk=feed).budget, 16) == budget
    assert 'value="0.00000000000025 ETH"' in answer.text
    assert "budget 0 of 0.00025 gwei" in visible_text(answer.text)
    for text, sentence in (
        ("5 wei", "budget is 5 wei, but"),
        ("", 'The amount is empty. Write it as "0.01" or "0.01 ETH".'),
        ("1,5", 'The amount is "1,5". Write it as'),
        ("-1", 'The amount is "-1". Write it as'),
        ("1e3", 'The amount is "1e3". Write it as'),
        ("1 USD", "The amount is in USD. Give it in ETH, gwei or wei."),
        ("0.5 wei", 'The amount is "0.5 wei", but wei has no decimals.'),
        (f"0.{18 * '0'}1", "but ETH has at most 18 decimals."),
        (60 * "9", "which is more than 2^256 wei."),
    ):
        words = visible_text(owner.post(url, {"budget": text}, follow=True).text)
        assert sentence in words, words
    assert int(Feed.objects.get(pk=feed).budget, 16) == 250_000
    by_alias = made_feed(make_key(), feed_body(batch={"destinationChainId": "SN_SEPOLIA"}))
    url = f"/dashboard/feeds/{by_alias}/budget"
    assert "The budget is changed." in visible_text(
        owner.post(url, {"budget": "1"}, follow=True).text
    )


def test_nobody_else_changes_a_feed() -> None:
    feed = made_feed(make_key(), feed_body())
    for action in ("pause", "end"):
        answer = signed_in(OTHER_WALLET).post(f"/dashboard/feeds/{feed}/{action}", follow=True)
        assert f'You have no feed "{feed}".' in visible_text(answer.text)
    assert Feed.objects.get(pk=feed).state == FeedState.ACTIVE


def test_own_feeds_are_listed() -> None:
    client = signed_in()
    assert "You have no feed yet." in page_text("/dashboard/feeds", client)
    feed = made_feed(make_key(), feed_body())
    made_feed(make_key(OTHER_WALLET), feed_body(every="1 hour"))
    first, _ = run(feed, 2)
    succeed(first, nonce=1)
    words = page_text("/dashboard/feeds", client)
    delivery = "update(uint256) of 0x1111…1111"
    assert (
        f"ACTIVE balance of 0xd8dA…6045 …{feed[-5:]} {feed} Sepolia, every 10 blocks {delivery}"
        in words
    )
    assert "Sepolia, every 10 blocks" in words
    assert "block 5,186,030 in 10 blocks, about 2 minutes" in words
    assert "1 of 1 succeeded" in words
    assert "every hour" not in words


def test_the_webhook_of_a_pause_names_the_feed() -> None:
    webhook = {"url": "https://hook.example/x"}
    feed = made_feed(make_key(), feed_body(batch={"webhook": webhook}))
    for batch_id in run(feed, MAX_FAILED_RUNS):
        fail(batch_id)
    run(feed)
    assert "PAUSED" in page(feed)
    answer: Any = signed_in().get("/dashboard/webhooks")
    assert f'href="/explorer/feed/{feed}"' in answer.text
    assert "Feed paused" in visible_text(answer.text)


def test_a_feed_whose_route_is_gone_keeps_its_page() -> None:
    feed = made_feed(make_key(), feed_body())
    run(feed)
    request = json.loads(Feed.objects.get(pk=feed).request)
    request["batch"]["destinationChainId"] = "5"
    Feed.objects.update(request=json.dumps(request))
    assert "a batch · Sepolia, every 10 blocks ACTIVE" in page(feed)


def test_unknown_feeds_have_the_page_of_unknown_addresses() -> None:
    for feed in (UNKNOWN_ID, "x"):
        assert Client().get(f"/explorer/feed/{feed}").status_code == 404


def test_the_search_finds_a_feed_by_its_id() -> None:
    feed = made_feed(make_key(), feed_body())
    for text in (feed, feed.lower(), feed[:12], f"https://tacitus.example/explorer/feed/{feed}"):
        answer: Any = Client().get("/search", {"q": text})
        assert (answer.status_code, answer.get("Location")) == (302, f"/explorer/feed/{feed}"), text
