"""Feeds over the API: what is accepted, and each refusal with its code, path and sentence."""

import json
import time
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from queries.models import Batch, ChainRecord
from tests.explorer.stored_batches import prove
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
    OTHER_WALLET,
    SEPOLIA,
    WALLET,
    ask,
    made_feed,
    make_feed,
    make_key,
    record_head,
    submit,
)

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]

HEAD = 5_186_021
BLOCK = {"accounts": {WALLET: {"props": ["BALANCE"]}}}
DUE, DUE_TIME = "block:$due", "timestamp:$due"
BATCH = {"destinationChainId": "11155111", "fee": "10", "data": {"11155111": {DUE: BLOCK}}}
BY_TIME = BATCH | {"data": {"11155111": {DUE_TIME: BLOCK}}}
FEED = {"every": "300 blocks", "batch": BATCH}
WEEKLY = {"every": "1 week", "batch": BY_TIME}
UNKNOWN_ID = "01J2VM6JSA6VKKZ0ENWGYYPR18"


@pytest.fixture(autouse=True)
def head() -> None:
    record_head(SEPOLIA, number=HEAD, timestamp=int(time.time()))
    ChainRecord.objects.update(block_seconds=12.0)


def send(key: str, method: str, feed: str, content: object = None) -> Any:
    body = b"" if content is None else json.dumps(content)
    headers = {"api-key": key}
    return Client().generic(method, f"/feeds/{feed}", body, "application/json", headers=headers)


def test_a_feed_of_blocks_is_made_and_read() -> None:
    webhook = {"url": "https://example.org/hook", "headers": {"Authorization": "Bearer secret"}}
    content = FEED | {"batch": BATCH | {"webhook": webhook, "label": "x"}, "budget": "25"}
    key = make_key()
    made = make_feed(key, content).json()
    assert (made["state"], made["reason"], made["waitsFor"]) == ("ACTIVE", None, None)
    assert (made["every"], made["nextDue"]) == ("300 blocks", "block:5186100")
    assert (made["budget"], made["catchUp"], made["until"]) == ("25", "latest", None)
    assert [warning["sentence"] for warning in made["warnings"]] == [
        'Fields that are not known here were ignored: "label".'
    ]
    details = ask(key, f"/feeds/{made['id']}").json()
    assert details["batch"]["data"] == BATCH["data"]
    assert details["batch"]["webhook"] == {"url": webhook["url"]}
    assert details["runs"] == []
    assert Batch.objects.count() == 0


def test_times_are_due_at_multiples_of_the_interval_since_1970() -> None:
    made = make_feed(make_key(), WEEKLY | {"until": 4_102_444_800, "catchUp": "all"}).json()
    due = int(made["nextDue"].removeprefix("timestamp:"))
    assert due % 604_800 == 0
    assert 0 < due - time.time() <= 604_800
    assert time.gmtime(due)[3:7] == (0, 0, 0, 3)  # Thursday, as 1 January 1970
    assert (made["every"], made["until"]) == ("1 week", 4_102_444_800)


def test_only_the_owner_reads_and_changes_a_feed() -> None:
    key, other = make_key(), make_key(OTHER_WALLET)
    ids = [made_feed(key, FEED) for _ in range(3)]
    page = ask(key, "/feeds", limit=2).json()
    assert [feed["id"] for feed in page["feeds"]] == ids[:0:-1]
    rest = ask(key, "/feeds", limit=2, cursor=page["cursor"]).json()
    assert [feed["id"] for feed in rest["feeds"]] == ids[:1]
    assert rest["cursor"] is None
    assert ask(other, "/feeds").json()["feeds"] == []
    for feed in (ids[0], UNKNOWN_ID, "x"):
        for method, content in (("GET", None), ("PATCH", {"state": "PAUSED"}), ("DELETE", None)):
            answer = send(other, method, feed, content)
            assert (answer.status_code, answer.json()["code"]) == (404, "feed_unknown")
            assert answer.json()["path"] == "feed"


def test_a_feed_is_paused_resumed_and_ended() -> None:
    key = make_key()
    feed = made_feed(key, FEED)
    paused = send(key, "PATCH", feed, {"state": "PAUSED", "budget": "100"}).json()
    assert (paused["state"], paused["budget"]) == ("PAUSED", "100")
    resumed = send(key, "PATCH", feed, {"state": "ACTIVE"}).json()
    assert (resumed["state"], resumed["reason"], resumed["budget"]) == ("ACTIVE", None, "100")
    for _ in range(2):
        ended = send(key, "DELETE", feed).json()
        assert (ended["state"], ended["nextDue"]) == ("ENDED", None)
    refused = send(key, "PATCH", feed, {"state": "ACTIVE"})
    assert (refused.status_code, refused.json()["code"]) == (409, "feed_ended")


def test_the_newest_value_is_listed_with_its_coin() -> None:
    key = make_key()
    feed = made_feed(key, FEED)
    assert ask(key, f"/feeds/{feed}").json()["newestValue"] is None
    run = Client().post(f"/feeds/{feed}/runs", headers={"api-key": key}).json()
    assert run["value"] is None
    prove(run["batchQueryId"])
    value = {
        "block": f"{HEAD}",
        "account": WALLET,
        "name": "BALANCE",
        "word": f"0x{HEAD % 1000 * 10**18:064x}",
        "coin": "ETH",
    }
    details = ask(key, f"/feeds/{feed}").json()
    assert (details["newestValue"], details["runs"][0]["value"]) == (value, value)
    (listed,) = ask(key, "/feeds").json()["feeds"]
    assert (listed["newestValue"], listed["batch"]["data"]) == (value, BATCH["data"])


def test_a_feed_has_a_name_that_can_be_changed_and_removed() -> None:
    key = make_key()
    feed = made_feed(key, FEED | {"name": f"  {60 * 'é'} "})
    assert ask(key, f"/feeds/{feed}").json()["name"] == 60 * "é"
    assert send(key, "PATCH", feed, {"name": "ETH <b> of the vault"}).json()["name"] == (
        "ETH <b> of the vault"
    )
    assert send(key, "PATCH", feed, {"state": "PAUSED"}).json()["name"] == "ETH <b> of the vault"
    assert send(key, "PATCH", feed, {"name": None}).json()["name"] is None
    assert [entry["name"] for entry in ask(key, "/feeds").json()["feeds"]] == [None]
    assert ask(key, f"/feeds/{made_feed(key, FEED | {'name': None})}").json()["name"] is None


def test_an_account_has_so_many_feeds(settings: LazySettings) -> None:
    settings.FEEDS_PER_ACCOUNT = 2
    key = make_key()
    first, _ = made_feed(key, FEED), made_feed(key, FEED)
    refused = make_feed(key, FEED)
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_feeds")
    send(key, "DELETE", first)
    assert make_feed(key, FEED).status_code == 200


def test_blocks_need_a_head() -> None:
    batch = BATCH | {"destinationChainId": "10", "data": {"10": {DUE: BLOCK}}}
    refused = make_feed(make_key(), FEED | {"batch": batch})
    assert (refused.status_code, refused.json()["code"]) == (409, "head_unknown")
    assert refused.json()["error"].startswith(
        f"No prover has read the newest block of chain {OPTIMISM}"
    )


def batch(**members: object) -> dict[str, object]:
    return {"batch": BATCH | members}


def data(blocks: object, chain: str = "11155111") -> dict[str, object]:
    return batch(data={chain: blocks})


BAD_ACCOUNT = {"accounts": {WALLET[:-1]: {"props": ["BALANCE"]}}}
DELIVERY = {"to": OTHER_WALLET, "function": "f(uint256)", "args": ["$value(x)"], "gas": "200000"}
IN_BLOCK = f"batch.data.11155111.{DUE}"
REFUSALS: list[tuple[dict[str, object], str, str, str]] = [
    ({"every": {}}, "feed_malformed", "every", "is an object, but must be a text such as "),
    ({"every": 300}, "feed_malformed", "every", 'is a number, but must be a text such as "300 b'),
    ({"every": "0 blocks"}, "feed_malformed", "every", 'is "0 blocks", but must be a text such as'),
    ({"every": "1.5 hours"}, "feed_malformed", "every", 'is "1.5 hours", but must be a text such'),
    ({"every": "1 month"}, "feed_malformed", "every", 'is "1 month", but must be a text such as'),
    ({"every": "4 blocks"}, "feed_malformed", "every",
     ("is 4 blocks, but must be at least 5 blocks: a feed may run once in 60 seconds here, and a "
      "block of chain 11155111 takes 12 seconds, as measured last.")),
    ({"every": "59 seconds", "batch": BY_TIME}, "feed_malformed", "every",
     "is 59 seconds, but must be at least 60 seconds: a feed may run once in 60 seconds here"),
    ({"every": "53 weeks"}, "feed_malformed", "every", 'is "53 weeks", but must be at most 366 d'),
    ({"every": "1 hour"}, "feed_malformed", "batch.data.11155111",
     f'has "{DUE}", but this feed\'s one block must have the key "{DUE_TIME}".'),
    ({"batch": BY_TIME}, "feed_malformed", "batch.data.11155111", f'has "{DUE_TIME}", but this '),
    (data({"block:5": BLOCK}), "feed_malformed", "batch.data.11155111", 'has "block:5", but this '),
    (data({DUE: BLOCK, "block:5": BLOCK}), "feed_malformed", "batch.data.11155111", f'has "{DUE}'),
    (data({}), "feed_malformed", "batch.data.11155111", "has no block, but this feed's one block "),
    (batch(data={}), "feed_malformed", "batch.data", "has 0 source chains, but a feed has one."),
    (batch(data={"11155111": {DUE: BLOCK}, "10": {DUE: BLOCK}}), "feed_malformed", "batch.data",
     "has 2 source chains, but a feed has one."),
    (data({DUE: BLOCK}, "5"), "chain_unsupported", "batch.data.5", 'is "5", which is not a chain '),
    (data({DUE: BLOCK}, "137"), "route_unsupported", "batch.data.137", "is a chain whose facts "),
    (data({DUE: {}}), "empty_request", IN_BLOCK, "asks for nothing. Name at least one entry of "),
    (data({DUE: {"acounts": {}}}), "unknown_field", f"{IN_BLOCK}.acounts", "is an unknown field"),
    (batch(fee="x"), "fee_malformed", "batch.fee", 'is "x", but must be an amount in wei'),
    (batch(deliver=[DELIVERY]), "unknown_placeholder", "batch.deliver[0].args[0]", "is "),
    (batch(webhook={"url": "ftp://x"}), "webhook_malformed", "batch.webhook.url", "must be a full"),
    (batch(webhook={"url": "http://127.0.0.1/"}), "webhook_malformed", "batch.webhook.url",
     "names this machine or a private network"),
    ({"batch": None}, "wrong_type", "batch", "must be an object, not null."),
    ({"until": 0}, "feed_malformed", "until", "is 1970-01-01 00:00:00 UTC, before the first run; "),
    ({"until": 10**10}, "feed_malformed", "until", "is 10000000000, but must be a whole number "),
    ({"budget": "9"}, "feed_malformed", "budget", "is 9 wei, but one run may spend its fee, "),
    ({"budget": 25}, "wrong_type", "budget", 'must be text in quotes, such as "0", not a number.'),
    ({"catchUp": "none"}, "feed_malformed", "catchUp", 'is "none", but must be "latest" or "all".'),
    ({"catchUp": 1}, "feed_malformed", "catchUp", 'is a number, but must be "latest" or "all".'),
    ({"name": 5}, "feed_malformed", "name", "is a number, but must be a text of 1 to 60, or null."),
    ({"name": " "}, "feed_malformed", "name", "has 0 characters, but must be a text of 1 to 60, "),
    ({"name": 61 * "x"}, "feed_malformed", "name", "has 61 characters, but must be a text of 1 to"),
    ({"name": "a\n\u202eb"}, "feed_malformed", "name", 'is "a\\u000a\\u202eb", but must not have '),
    ({"then": {}}, "unknown_field", "then", "is an unknown field; the known fields are "),
]  # fmt: skip


TRANSFER = "Transfer(address indexed from, address indexed to, uint256 value)"
ON_LOG = {"address": OTHER_WALLET, "event": TRANSFER}
OF_SENDER = {"accounts": {"$topic1": {"props": ["BALANCE"], "slots": ["$keccak($topic1, 3)+1"]}}}
PAYMENT = {
    "to": OTHER_WALLET,
    "function": "onTransfer(address,address,uint256,uint256,uint256)",
    "args": ["$topic1", "$topic2", "$data[0]", "$log.block", "$value($topic1.BALANCE)"],
    "gas": "200000",
}
BY_LOG = {
    "on": ON_LOG,
    "batch": BATCH | {"data": {"11155111": {DUE: OF_SENDER}}, "deliver": [PAYMENT]},
}
BALANCE = f"{WALLET}.BALANCE"
BY_VALUE = {
    "when": {"value": BALANCE, "by": "0.5 bp", "every": "20 blocks", "heartbeat": "4 hours"}
}


def by_log(**members: object) -> dict[str, object]:
    return BY_LOG | {"on": ON_LOG | members}


def log_batch(block: object = OF_SENDER, key: str = DUE, **members: object) -> dict[str, object]:
    return BY_LOG | batch(data={"11155111": {key: block}}, **members)


def by_value(**members: object) -> dict[str, object]:
    return {"batch": BATCH, "when": BY_VALUE["when"] | members}


TRIGGER_REFUSALS: list[tuple[dict[str, object], str, str, str]] = [
    (BY_LOG | {"every": "300 blocks"}, "feed_malformed", "",
     'must have exactly one of the members "every", "on" and "when".'),
    ({"batch": BATCH}, "feed_malformed", "", "must have exactly one of the members "),
    (by_log(address="x"), "feed_malformed", "on.address", 'is "x", but must be '),
    (by_log(event="Transfer("), "function_malformed", "on.event",
     'is "Transfer(", which is not an event: a type is expected instead of the end. Write it as '),
    (by_log(event=5), "wrong_type", "on.event", "must be text, not a number."),
    (by_log(event="A(uint8 indexed,uint8 indexed,uint8 indexed,uint8 indexed)"),
     "function_malformed", "on.event", "is "),
    *(
        (by_log(event=f"Moved({kind})"), "feed_malformed", "on.event",
         f'is "Moved({kind})", but its parameters may have at most 64 values, and no list of lists')
        for kind in ("uint8[][]", "uint256[1000000][1000000]", "uint256[65]", "bytes[]",
                     "(string,(uint8,bytes[]))", "(uint256[60],uint256[5])", "(uint8,uint8)[]")
    ),
    (by_log(topics=[f"0x{64 * '1'}"]), "feed_malformed", "on.topics", "begins with the topic of "),
    (by_log(topics=[None, None, None, None]), "feed_malformed", "on.topics",
     "has 4 positions, but logs of this event have 3 topics."),
    (by_log(topics=["x"]), "feed_malformed", "on.topics", 'is "x", but must be a topic'),
    (by_log(colour=1), "unknown_field", "on.colour", "is an unknown field"),
    (log_batch({"accounts": {"$topic3": {"props": ["NONCE"]}}}), "unknown_placeholder",
     f"{IN_BLOCK}.accounts.$topic3",
     'has "$topic3"; this feed\'s placeholders are $due, $log.block, $topic1, $topic2, $data[0]'),
    (log_batch({"accounts": {"$topic1": {"slots": ["$keccak(x)"]}}}), "unknown_placeholder",
     f"{IN_BLOCK}.accounts.$topic1.slots[0]", 'has "$keccak(x)", but takes words: '),
    (log_batch(key="hash:$topic1"), "feed_malformed", "batch.data.11155111",
     f'has "hash:$topic1", but this feed\'s one block must have the key "{DUE}".'),
    (log_batch(deliver=[PAYMENT | {"args": ["$topic1"]}]), "argument_malformed",
     "batch.deliver[0].args", ""),
    (log_batch(deliver=[PAYMENT | {"args": ["$data[0]", *PAYMENT["args"][1:]]}]),
     "argument_malformed", "batch.deliver[0].args[0]", ""),
    (by_value(value="x"), "feed_malformed", "when.value",
     'is "x", but must be 0xACCOUNT.BALANCE, 0xACCOUNT.NONCE or 0xACCOUNT.0xSLOT.'),
    (by_value(value=f"{WALLET}.CODE_HASH"), "feed_malformed", "when.value", "is "),
    (by_value(value=f"{WALLET}.NONCE"), "feed_malformed", "when.value",
     f'is "{WALLET}.NONCE", which the batch does not ask for.'),
    (by_value(by="0 bp"), "feed_malformed", "when.by", 'is "0 bp", but must be hundredths of a '),
    (by_value(by=5), "feed_malformed", "when.by", "is a number, but must be hundredths of a perc"),
    (by_value(every="1 hour"), "feed_malformed", "when.every", 'is "1 hour", but must be a text '),
    (by_value(every="1 block"), "feed_malformed", "when.every", "is 1 block, but must be at least"),
    (by_value(heartbeat="20 blocks"), "feed_malformed", "when.heartbeat", 'is "20 blocks", but '),
    (by_value() | {"catchUp": "all"}, "feed_malformed", "catchUp", 'is "all", but the values of '),
]  # fmt: skip


@pytest.mark.parametrize(("content", "code", "path", "sentence"), TRIGGER_REFUSALS)
def test_refusals_of_triggers(
    content: dict[str, object], code: str, path: str, sentence: str
) -> None:
    answer = make_feed(make_key(), content).json()
    assert (answer.get("code"), answer.get("path")) == (code, path), answer
    assert answer["error"].startswith(f"{path or 'The body'} {sentence}"), answer["error"]


def test_a_feed_is_not_larger_than_provers_can_read() -> None:
    args = ["$keccak(1)" * 800, *PAYMENT["args"][1:]]
    key, content = make_key(), log_batch(deliver=[PAYMENT | {"args": args}])
    assert make_feed(key, content).json()["code"] == "argument_malformed"
    refused = make_feed(key, content | {"until": 0, "x": 2**16 * "x"})
    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")


def test_feeds_of_logs_and_of_values_are_made_and_read() -> None:
    key = make_key()
    made = make_feed(key, BY_LOG).json()
    assert made["on"] == ON_LOG
    assert not {"every", "when"} & made.keys()
    assert (made["nextDue"], made["lastValue"]) == (None, None)
    assert ask(key, f"/feeds/{made['id']}").json()["batch"] == BY_LOG["batch"]
    made = make_feed(key, BY_VALUE | {"batch": BATCH}).json()
    assert (made["when"], made["nextDue"]) == (BY_VALUE["when"], "block:5186040")
    by_hash = "Voted(uint256 indexed, bytes32 indexed)"
    content = log_batch(BLOCK, "hash:$topic2", deliver=[]) | {"on": ON_LOG | {"event": by_hash}}
    assert make_feed(key, content).status_code == 200


@pytest.mark.parametrize(("change", "code", "path", "sentence"), REFUSALS)
def test_refusals(change: dict[str, object], code: str, path: str, sentence: str) -> None:
    answer = make_feed(make_key(), FEED | change).json()
    assert (answer.get("code"), answer.get("path")) == (code, path), answer
    assert answer["error"].startswith(f"{path} {sentence}"), answer["error"]


def test_refusals_with_sentences_of_their_own() -> None:
    key = make_key()
    answer = make_feed(key, FEED | data({DUE: BAD_ACCOUNT})).json()
    path = f"{IN_BLOCK}.accounts.{WALLET[:-1]}"
    assert (answer["code"], answer["path"]) == ("account_malformed", path)
    assert answer["error"].startswith(f"{path} is not an account: an address has 40 hex digits")
    on_optimism = batch(destinationChainId="10", fee="0")
    answer = make_feed(key, FEED | on_optimism).json()
    assert (answer["code"], answer["path"]) == ("fee_too_low", "batch.fee")
    assert answer["error"].startswith('batch.fee is "0", but proving on chain 10 is not free')
    answer = make_feed(key, {"every": "300 blocks"}).json()
    assert (answer["code"], answer["path"]) == ("missing_field", "batch")


@pytest.mark.parametrize(
    ("change", "code", "path", "sentence"),
    [
        ({}, "feed_malformed", "", "The body changes nothing. It needs a state, "),
        ([], "wrong_type", "", "The body must be an object, not a list."),
        ({"state": "ENDED"}, "feed_malformed", "state",
         'state is "ENDED", but must be "PAUSED" or "ACTIVE".'),
        ({"state": None}, "feed_malformed", "state", "state is null, but must be "),
        ({"budget": "9"}, "feed_malformed", "budget", "budget is 9 wei, but one run may spend "),
        ({"every": {}}, "unknown_field", "every", "every is an unknown field; the known fields "),
    ],
)  # fmt: skip
def test_refused_changes(change: object, code: str, path: str, sentence: str) -> None:
    key = make_key()
    answer = send(key, "PATCH", made_feed(key, FEED), change).json()
    assert (answer.get("code"), answer.get("path")) == (code, path), answer
    assert answer["error"].startswith(sentence), answer["error"]


def test_a_budget_below_the_fee_of_a_run_is_refused_in_coins() -> None:
    key, sentence = make_key(), "budget is 0.001 ETH, but one run may spend its fee, 0.01 ETH."
    batch = BATCH | {"fee": str(10**16)}
    for destination in ("11155111", "SN_SEPOLIA"):
        content = FEED | {"batch": batch | {"destinationChainId": destination}}
        refused = make_feed(key, content | {"budget": str(10**15)}).json()
        assert refused["error"] == sentence
        change = {"budget": str(10**15)}
        assert send(key, "PATCH", made_feed(key, content), change).json()["error"] == sentence


def test_an_own_key_cannot_be_that_of_a_run_and_due_is_no_block_of_a_batch() -> None:
    key = make_key()
    refused = submit(key, BATCH | {"data": {"11155111": {"block:5": BLOCK}}},
                     **{"idempotency-key": "feed 1 2"})  # fmt: skip
    assert refused.json()["code"] == "idempotency_key_malformed"
    assert submit(key, BATCH).json()["code"] == "selector_malformed"
