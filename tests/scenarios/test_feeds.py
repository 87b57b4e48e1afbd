"""Feeds: the same batch again when it is due, and its values delivered."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import requests
from eth_abi.abi import encode

from tests.builds import contract_for_tests, example
from tests.rigs.anvil import Chain, call_data
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service, accounts, request, wait_until
from tests.scenarios.fixtures import Install

EVERY = 10  # blocks
SETTINGS: dict[str, Any] = {"FEED_SECONDS": "1"}


@pytest.fixture(scope="module")
def served(install: Install) -> Iterator[Service]:
    """Without a prover. The chain's head is an hour in the past."""
    with closing(Chain(age=3_600)) as chain, install() as service:
        service.add_native_chain(chain)
        service.set_limits(poll_interval=0.1, delivery_attempts=1, delivery_pause=0.1)
        chain.deploy("Courier", by_factory=True)
        chain.mine(40)
        service.serve(**SETTINGS)
        yield service


@pytest.fixture
def proving(served: Service) -> Iterator[Service]:
    with served.prove(**SETTINGS):
        yield served
        for feed in served.get("/feeds").json()["feeds"]:
            if feed["state"] != "ENDED":
                assert send(served, "DELETE", feed["id"]).ok


def send(service: Service, method: str, feed: str, content: Any = None) -> requests.Response:
    headers = {"api-key": service.keys[0]}
    url = f"{service.url}/feeds/{feed}"
    return requests.request(method, url, json=content, headers=headers, timeout=60)


class Feed:
    """A feed of the balance of HOLDER, which is delivered to a contract that counts."""

    def __init__(self, service: Service, *, every: dict[str, int], **more: Any) -> None:
        self.service, self.chain = service, service.chain
        self.target = deploy(self.chain, contract_for_tests("Receiver"))
        body = {"every": every, "batch": batch_body(every, **more.pop("batch", {})), **more}
        body["batch"].setdefault("deliver", [self.balance_call()])
        answer = service.post("/feeds", body)
        assert answer.ok, answer.text
        self.id, self.next = answer.json()["id"], answer.json()["nextDue"]

    def balance_call(self) -> dict[str, Any]:
        args = [HOLDER, "$block", f"$value({HOLDER}.BALANCE)"]
        function = "onBalance(address,uint256,uint256)"
        return {"to": self.target, "function": function, "args": args, "gas": "200000"}

    def read(self) -> dict[str, Any]:
        answer = self.service.get(f"/feeds/{self.id}")
        assert answer.ok, answer.text
        return dict(answer.json())

    def change(self, **changes: str) -> dict[str, Any]:
        answer = send(self.service, "PATCH", self.id, changes)
        assert answer.ok, answer.text
        return dict(answer.json())

    @property
    def runs(self) -> list[dict[str, Any]]:
        return list(self.read()["runs"])

    @property
    def dues(self) -> list[int]:
        """Oldest first."""
        return [int(run["due"].partition(":")[2]) for run in reversed(self.runs)]

    def mine_to(self, due: int) -> None:
        """Mine this block, and those that make it final."""
        self.chain.mine(max(due + 3 - self.chain.head, 0))

    def wait_for_runs(self, count: int, state: str = "DELIVERED") -> list[dict[str, Any]]:
        """Wait until there are so many runs, all of whose deliveries have this state."""

        def if_ended() -> list[dict[str, Any]]:
            runs = self.runs
            is_over = all(run["deliveries"] == [state] for run in runs)
            return runs if len(runs) >= count and is_over else []

        return wait_until(if_ended, what=lambda: str(self.read()))

    def wait_for_more_than(self, count: int) -> None:
        wait_until(lambda: len(self.runs) > count, what=lambda: str(self.read()))

    def wait_for_state(self, state: str) -> dict[str, Any]:
        wait_until(lambda: self.read()["state"] == state, what=lambda: str(self.read()))
        return self.read()

    def count(self) -> int:
        return int.from_bytes(self.chain.call(self.target, "count()"))


def deploy(chain: Chain, code: bytes) -> str:
    return str(chain.send(None, f"0x{code.hex()}")["contractAddress"])


def batch_body(every: dict[str, int], fee: str = "0", **more: Any) -> dict[str, Any]:
    key = "timestamp:$due" if "seconds" in every else "block:$due"
    return {**request({31337: {key: accounts(HOLDER)}}, fee=fee), **more}


def first_due(feed: Feed) -> int:
    return int(feed.next.partition(":")[2])


def test_the_balance_of_every_tenth_block_arrives_in_a_contract(proving: Service) -> None:
    chain, registry = proving.chain, proving.registries[31337, 31337]
    arguments = encode(["address", "address"], [registry, HOLDER])
    consumer = deploy(chain, example("NewestBalance") + arguments)
    call = {"to": consumer, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
    every = {"blocks": EVERY}
    feed = Feed(proving, every=every, batch={"deliver": [call]}, catchUp="all")
    first = first_due(feed)
    assert first % EVERY == 0
    for count in (1, 2, 3):
        due = first + (count - 1) * EVERY
        feed.mine_to(due)
        (newest, *_) = feed.wait_for_runs(count)
        assert (newest["due"], newest["status"]) == (f"block:{due}", "DONE")
        assert int.from_bytes(chain.call(consumer, "blockNumber()")) == due
        assert int.from_bytes(chain.call(consumer, "balance()")) == HOLDER_BALANCE
        assert proving.field(HOLDER, due, 1) == HOLDER_BALANCE
        assert feed.read()["nextDue"] == f"block:{due + EVERY}"


def test_values_of_times_are_delivered_until_the_feed_ends(
    new_service: Callable[[], Service], new_chain: Callable[..., Chain]
) -> None:
    seconds, runs = 4, 3
    chain, service = new_chain(age=600), new_service()
    service.add_native_chain(chain)
    service.set_limits(poll_interval=0.2, delivery_attempts=3, delivery_pause=0.1)
    chain.deploy("Courier", by_factory=True)
    chain.mine(12)
    chain.reach_time(int(time.time()))  # later blocks have the time at which they are mined
    service.serve(**SETTINGS)
    service.prove(**SETTINGS)
    until = (int(time.time()) // seconds + runs) * seconds + 1
    feed = Feed(service, every={"seconds": seconds}, until=until, catchUp="all")
    first = first_due(feed)

    def if_ended() -> bool:
        chain.reach_time(int(time.time()))
        details = feed.read()
        states = [state for run in details["runs"] for state in run["deliveries"]]
        return details["state"] == "ENDED" and set(states) == {"DELIVERED"}

    wait_until(if_ended, what=lambda: str(feed.read()))
    assert feed.dues == list(range(first, until + 1, seconds))
    assert first % seconds == 0
    for run in feed.runs:
        due = int(run["due"].removeprefix("timestamp:"))
        (query,) = service.status(run["batchQueryId"])["queries"]
        block = int(query["block"])
        assert int(chain.header(block)["timestamp"], 16) <= due
        assert due < int(chain.header(block + 1)["timestamp"], 16)
        assert service.field(HOLDER, block, 1) == HOLDER_BALANCE
    assert feed.count() == len(feed.dues)
    details = feed.read()
    assert (details["reason"], details["nextDue"]) == ("Its time is over.", None)


@pytest.mark.parametrize("catch_up", ["latest", "all"])
def test_after_a_pause_the_latest_run_or_all_are_made_up_for(
    proving: Service, catch_up: str
) -> None:
    feed = Feed(proving, every={"blocks": EVERY}, catchUp=catch_up)
    first = first_due(feed)
    feed.mine_to(first)
    feed.wait_for_runs(1)
    assert feed.change(state="PAUSED")["reason"] == "Its owner paused it."
    feed.mine_to(first + 3 * EVERY)
    time.sleep(1)  # several polls
    assert feed.dues == [first]
    assert feed.change(state="ACTIVE")["reason"] is None
    missed = [first + n * EVERY for n in (1, 2, 3)]
    expected = missed if catch_up == "all" else missed[-1:]
    feed.wait_for_runs(1 + len(expected))
    assert feed.dues == [first, *expected]
    assert feed.count() == 1 + len(expected)


def test_a_run_beyond_the_budget_waits(proving: Service) -> None:
    fee = 10**16
    batch = {"fee": str(fee)}
    feed = Feed(proving, every={"blocks": EVERY}, batch=batch, budget=str(fee))
    first = first_due(feed)
    feed.mine_to(first)
    (run,) = feed.wait_for_runs(1)
    spent = int(proving.status(run["batchQueryId"])["spent"])
    assert 0 < spent < fee
    feed.mine_to(first + EVERY)
    wait_until(lambda: feed.read()["waitsFor"], what=lambda: str(feed.read()))
    assert f"have spent or reserve {spent} wei" in feed.read()["waitsFor"]
    feed.mine_to(first + 2 * EVERY)
    time.sleep(1)
    assert feed.dues == [first]
    feed.change(budget=str(10 * fee))
    feed.wait_for_runs(2)
    assert feed.dues == [first, first + 2 * EVERY]  # which has replaced the one that waited
    assert feed.read()["waitsFor"] is None


def test_two_provers_one_killed_run_each_due_once(served: Service) -> None:
    feed = Feed(served, every={"blocks": EVERY}, catchUp="all")
    first, count = first_due(feed), 0
    with served.prove(**SETTINGS) as survivor:
        for _ in range(3):
            with served.prove(**SETTINGS) as victim:
                feed.mine_to(first + (count + 3) * EVERY)
                feed.wait_for_more_than(count)
                victim.kill()
            count += 4
        assert survivor.runs
        feed.wait_for_runs(count)
    with served.prove(**SETTINGS):
        feed.wait_for_runs(count)
    dues = feed.dues
    assert dues == [first + n * EVERY for n in range(len(dues))]
    assert len(dues) >= count
    assert len({run["batchQueryId"] for run in feed.runs}) == len(dues)
    assert feed.count() == len(dues)
    assert send(served, "DELETE", feed.id).json()["state"] == "ENDED"


def test_five_failed_runs_pause_a_feed(proving: Service) -> None:
    feed = Feed(proving, every={"blocks": EVERY}, catchUp="all")
    feed.chain.send(feed.target, call_data("setRefuses(bool)", True))
    first = first_due(feed)
    feed.mine_to(first + 4 * EVERY)
    feed.wait_for_runs(5, state="FAILED")
    feed.mine_to(first + 5 * EVERY)
    details = feed.wait_for_state("PAUSED")
    assert details["reason"] == "Its last 5 runs have failed."
    assert len(details["runs"]) == 5
    feed.chain.send(feed.target, call_data("setRefuses(bool)", False))
    feed.change(state="ACTIVE")
    feed.wait_for_more_than(5)
    wait_until(lambda: feed.runs[0]["deliveries"] == ["DELIVERED"])
    assert feed.read()["state"] == "ACTIVE"


def test_runs_that_are_refused_count_as_failed_and_name_the_reason(served: Service) -> None:
    props = {"data": {"31337": {"block:$due": accounts(HOLDER, props=["BALANCE", "NONCE"])}}}
    feed = Feed(served, every={"blocks": EVERY}, batch=props, catchUp="all")
    first = first_due(feed)
    feed.mine_to(first + 6 * EVERY)
    with served.prove(**SETTINGS, FACTS_PER_DAY="1"):
        details = feed.wait_for_state("PAUSED")
    assert details["reason"].startswith("Its last 5 runs have failed. This batch asks for 2 facts")
    assert {run["error"]["code"] for run in details["runs"]} == {"batch_exceeds_daily_limit"}
    assert feed.dues == [first + n * EVERY for n in range(5)]


def test_an_ended_feed_runs_no_more_and_its_batches_stay(proving: Service) -> None:
    feed = Feed(proving, every={"blocks": EVERY})
    first = first_due(feed)
    feed.mine_to(first)
    (run,) = feed.wait_for_runs(1)
    ended = send(proving, "DELETE", feed.id).json()
    assert (ended["state"], ended["reason"]) == ("ENDED", "Its owner ended it.")
    feed.mine_to(first + EVERY)
    time.sleep(1)
    assert feed.dues == [first]
    assert proving.status(run["batchQueryId"])["status"] == "DONE"
    refused = send(proving, "PATCH", feed.id, {"state": "ACTIVE"})
    assert (refused.status_code, refused.json()["code"]) == (409, "feed_ended")
