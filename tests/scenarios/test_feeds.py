"""Feeds: the same batch again when it is due, and its values delivered."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
import requests
from eth_abi.abi import encode

from queries.amounts import short_amount
from tests.builds import contract_for_tests, example
from tests.rigs.anvil import Chain, call_data
from tests.rigs.faulty_node import Node
from tests.rigs.receiver import receiver
from tests.rigs.service import (
    HOLDER,
    HOLDER_BALANCE,
    OWNERS,
    Service,
    accounts,
    request,
    wait_until,
)
from tests.scenarios.fixtures import Install, NewChain, NewNode, NewService

EVERY = 10
EVERY_TENTH = f"{EVERY} blocks"
SETTINGS: dict[str, Any] = {
    "FEED_SECONDS": "1",
    "FEEDS_PER_ACCOUNT": "200",
    "ALLOW_PRIVATE_WEBHOOKS": "1",
}


@pytest.fixture(scope="module")
def served(install: Install) -> Iterator[Service]:
    """Without a prover. The chain's head is an hour in the past."""
    with closing(Chain(age=3_600)) as chain, install() as service:
        service.add_native_chain(chain)
        service.set_limits(poll_interval=0.1, delivery_attempts=1, delivery_pause=0.1)
        chain.deploy("Courier", by_factory=True)
        chain.mine(40)
        service.serve(**SETTINGS)
        with service.prove(**SETTINGS):  # until the chain's head is known
            Feed(service, every=EVERY_TENTH).end()
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

    def __init__(
        self,
        service: Service,
        *,
        key: str = "block:$due",
        batch: Any = None,
        owner: int = 0,
        **trigger: Any,
    ) -> None:
        self.service, self.chain, self.api_key = service, service.chain, service.keys[owner]
        self.target = deploy(self.chain, contract_for_tests("Receiver"))
        content = request({31337: {key: accounts(HOLDER)}}) | {"deliver": [self.balance_call()]}
        body = {"batch": content | (batch or {}), **trigger}

        def make() -> dict[str, Any]:
            """Empty until a prover has read the chain's head."""
            answer = service.post("/feeds", body, key=self.api_key)
            if "as measured last" in answer.text:  # reorgs have made blocks without a pause
                self.chain.mine(5)
                return {}
            assert answer.ok or answer.json()["retryable"], answer.text
            return dict(answer.json()) if answer.ok else {}

        made = wait_until(make)
        self.id, self.next = made["id"], made["nextDue"]

    def balance_call(self) -> dict[str, Any]:
        args = [HOLDER, "$block", f"$value({HOLDER}.BALANCE)"]
        function = "onBalance(address,uint256,uint256)"
        return {"to": self.target, "function": function, "args": args, "gas": "200000"}

    def read(self) -> dict[str, Any]:
        answer = self.service.get(f"/feeds/{self.id}", key=self.api_key)
        assert answer.ok, answer.text
        return dict(answer.json())

    def end(self) -> None:
        headers = {"api-key": self.api_key}
        url = f"{self.service.url}/feeds/{self.id}"
        assert requests.delete(url, headers=headers, timeout=60).ok

    def change(self, **changes: str) -> dict[str, Any]:
        answer = send(self.service, "PATCH", self.id, changes)
        assert answer.ok, answer.text
        return dict(answer.json())

    @property
    def runs(self) -> list[dict[str, Any]]:
        return list(self.read()["runs"])

    def all_runs(self) -> list[dict[str, Any]]:
        """Of a page of 100."""
        return list(self.service.get(f"/feeds/{self.id}", limit=100).json()["runs"])

    @property
    def dues(self) -> list[int]:
        """Oldest first."""
        return [int(run["due"].partition(":")[2]) for run in reversed(self.runs)]

    def mine_to(self, due: int) -> None:
        """Mine this block, and those that make it final."""
        self.chain.mine(max(due + 3 - self.chain.head, 0))

    def wait_for_runs(
        self, count: int, state: str = "DELIVERED", *, mines: bool = False
    ) -> list[dict[str, Any]]:
        """Wait until there are so many runs, all of whose deliveries have this state.

        Transactions make blocks too, and with them runs. `mines`: make their blocks final.
        """

        def if_ended() -> list[dict[str, Any]]:
            runs = self.runs
            if mines and runs:
                self.mine_to(self.dues[-1])
            is_over = all(run["deliveries"] == [state] for run in runs)
            return runs if len(runs) >= count and is_over else []

        return wait_until(
            if_ended,
            what=lambda: str((self.runs, self.service.status(self.runs[0]["batchQueryId"]))),
        )

    def wait_for_more_than(self, count: int) -> None:
        wait_until(lambda: len(self.runs) > count, what=lambda: str(self.read()))

    def wait_for_state(self, state: str) -> dict[str, Any]:
        wait_until(lambda: self.read()["state"] == state, what=lambda: str(self.read()))
        return self.read()

    def count(self) -> int:
        return int.from_bytes(self.chain.call(self.target, "count()"))


def deploy(chain: Chain, code: bytes) -> str:
    return str(chain.send(None, f"0x{code.hex()}")["contractAddress"])


def first_due(feed: Feed) -> int:
    return int(feed.next.partition(":")[2])


def next_due(feed: Feed) -> int:
    return int(feed.read()["nextDue"].partition(":")[2])


def test_the_balance_of_every_tenth_block_arrives_in_a_contract(proving: Service) -> None:
    chain, registry = proving.chain, proving.registries[31337, 31337]
    arguments = encode(["address", "uint256", "address"], [registry, 31337, HOLDER])
    consumer = deploy(chain, example("NewestBalance") + arguments)
    call = {"to": consumer, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
    feed = Feed(proving, every=EVERY_TENTH, batch={"deliver": [call]}, catchUp="all")
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
    feed = Feed(
        service, key="timestamp:$due", every=f"{seconds} seconds", until=until, catchUp="all"
    )
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
    feed = Feed(proving, every=EVERY_TENTH, catchUp=catch_up)
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
    feed = Feed(proving, every=EVERY_TENTH, batch=batch, budget=str(fee))
    first = first_due(feed)
    feed.mine_to(first)
    (run,) = feed.wait_for_runs(1)
    spent = int(proving.status(run["batchQueryId"])["spent"])
    assert 0 < spent < fee
    feed.mine_to(first + EVERY)
    wait_until(lambda: feed.read()["waitsFor"], what=lambda: str(feed.read()))
    assert f"have spent or reserve {short_amount(spent, 'ETH')}" in feed.read()["waitsFor"]
    feed.mine_to(first + 2 * EVERY)
    time.sleep(1)
    assert feed.dues == [first]
    feed.change(budget=str(10 * fee))
    feed.wait_for_runs(2)
    assert feed.dues == [first, first + 2 * EVERY]  # which has replaced the one that waited
    assert feed.read()["waitsFor"] is None


def test_two_provers_one_killed_run_each_due_once(served: Service) -> None:
    feed = Feed(served, every=EVERY_TENTH, catchUp="all")
    first, count = first_due(feed), 0
    with served.prove(**SETTINGS) as survivor:
        for _ in range(3):
            with served.prove(**SETTINGS) as victim:
                feed.mine_to(first + (count + 3) * EVERY)
                feed.wait_for_more_than(count)
                victim.kill()
            count += 4
        assert survivor.runs
        feed.wait_for_runs(count, mines=True)
    with served.prove(**SETTINGS):
        feed.wait_for_runs(count, mines=True)
    dues = feed.dues
    assert dues == [first + n * EVERY for n in range(len(dues))]
    assert len(dues) >= count
    assert len({run["batchQueryId"] for run in feed.runs}) == len(dues)
    assert feed.count() == len(dues)
    assert send(served, "DELETE", feed.id).json()["state"] == "ENDED"


def test_five_failed_runs_pause_a_feed_and_its_webhook_hears_of_it(proving: Service) -> None:
    with receiver() as hook:
        batch = {"webhook": {"url": hook.url}}
        feed = Feed(proving, every=EVERY_TENTH, catchUp="all", batch=batch)
        feed.chain.send(feed.target, call_data("setRefuses(bool)", True))
        first = first_due(feed)
        feed.mine_to(first + 4 * EVERY)
        feed.wait_for_runs(5, state="FAILED", mines=True)
        feed.mine_to(feed.dues[-1] + EVERY)
        details = feed.wait_for_state("PAUSED")
        assert details["reason"].startswith("Its last 5 runs have failed or are refused. The cont")
        count = len(details["runs"])

        def pauses() -> list[dict[str, Any]]:
            events = map(json.loads, hook.accepted)
            return [event for event in events if event.get("type") == "feed.paused"]

        (event,) = wait_until(pauses)
        assert (event["feed"], event["reason"]) == (feed.id, details["reason"])
        (*_, listed) = [
            delivery
            for delivery in proving.get("/webhook-deliveries").json()["deliveries"]
            if delivery["feed"]
        ]
        assert (listed["event"], listed["feed"]) == (event["event"], feed.id)
        feed.chain.send(feed.target, call_data("setRefuses(bool)", False))
        feed.change(state="ACTIVE")
        feed.wait_for_more_than(count)
        wait_until(lambda: feed.runs[0]["deliveries"] == ["DELIVERED"])
        assert feed.read()["state"] == "ACTIVE"


def test_runs_that_are_refused_count_as_failed_and_name_the_reason(served: Service) -> None:
    props = {"data": {"31337": {"block:$due": accounts(HOLDER, props=["BALANCE", "NONCE"])}}}
    feed = Feed(served, every=EVERY_TENTH, batch=props, catchUp="all")
    first = first_due(feed)
    feed.mine_to(first + 6 * EVERY)
    with served.prove(**SETTINGS, FACTS_PER_DAY="1"):
        details = feed.wait_for_state("PAUSED")
    reason = "Its last 5 runs have failed or are refused. This batch asks for 2 facts"
    assert details["reason"].startswith(reason)
    assert {run["error"]["code"] for run in details["runs"]} == {"batch_exceeds_daily_limit"}
    assert feed.dues == [first + n * EVERY for n in range(5)]


def test_an_ended_feed_runs_no_more_and_its_batches_stay(proving: Service) -> None:
    feed = Feed(proving, every=EVERY_TENTH)
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


ACTIVATED = "VotingActivated(uint256 indexed id, bytes32 indexed blockHash, uint24 delay)"


class Votes:
    """A contract on the source that logs each vote."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.address = chain, deploy(chain, contract_for_tests("VoteSnapshots"))

    def activate(self, *ids: int) -> int:
        """Log these votes in one block, and mine what makes it final. Returns its number."""
        self.chain.automine(on=False)
        for number in ids:
            data = call_data("activate(uint256,bytes32)", number, number.to_bytes(32))
            transaction = {"from": self.chain.payer, "to": self.address, "data": data}
            self.chain.rpc("eth_sendTransaction", transaction)
        block = self.chain.mine()
        self.chain.automine(on=True)
        self.chain.mine(4)
        return block

    def feed(self, service: Service, **more: Any) -> Feed:
        on = {"address": self.address, "event": ACTIVATED}
        return Feed(service, on=on | more.pop("on", {}), **more)


def of_vote(target: str) -> dict[str, Any]:
    """A call with the values of the log."""
    args = [HOLDER, "$topic1", "$data[0]"]
    function = "onBalance(address,uint256,uint256)"
    return {"to": target, "function": function, "args": args, "gas": "200000"}


def test_each_final_log_of_a_filter_is_a_run(proving: Service) -> None:
    chain, votes = proving.chain, Votes(proving.chain)
    target = deploy(chain, contract_for_tests("Receiver"))
    votes.activate(1)  # before the feed
    topics = [None, [f"0x{number:064x}" for number in (7, 8, 300)]]
    feed = votes.feed(proving, on={"topics": topics}, batch={"deliver": [of_vote(target)]})
    first = votes.activate(7, 1, 8)
    feed.wait_for_runs(2)
    second = votes.activate(300)
    runs = feed.wait_for_runs(3)
    places = [(run["due"], run["logIndex"]) for run in reversed(runs)]
    assert places == [(f"block:{first}", 0), (f"block:{first}", 2), (f"block:{second}", 0)]
    counts = [chain.call(target, "deliveries(uint256)", number) for number in (1, 7, 8, 300)]
    assert list(map(int.from_bytes, counts)) == [0, 1, 1, 1]
    assert int.from_bytes(chain.call(target, "balance()")) == 60  # the last one's delay
    assert proving.field(HOLDER, second, 1) == HOLDER_BALANCE


@pytest.mark.parametrize("catch_up", ["latest", "all"])
def test_logs_of_a_pause_are_left_out_or_made_up_for(proving: Service, catch_up: str) -> None:
    votes = Votes(proving.chain)
    feed = votes.feed(proving, catchUp=catch_up)
    feed.change(state="PAUSED")
    missed = votes.activate(1, 2)
    time.sleep(1)  # several polls
    assert feed.runs == []
    feed.change(state="ACTIVE")
    later = votes.activate(3)
    expected = [missed, missed, later] if catch_up == "all" else [later]
    feed.wait_for_runs(len(expected))
    assert feed.dues == expected


def wait_for_look(feed: Feed, block: int) -> None:
    """Wait until the value was read at this block or a later one."""
    wait_until(lambda: next_due(feed) > block, what=lambda: str(feed.read()))


def test_a_changed_value_is_a_run_and_so_is_a_long_silence(proving: Service) -> None:
    chain, account = proving.chain, f"0x{0xFEED:040x}"
    chain.set_balance(account, 10_000)
    when = {"value": f"{account}.BALANCE", "by": "50 bp", "every": "5 blocks"}
    batch = request({31337: {"block:$due": accounts(account)}})
    target = deploy(chain, contract_for_tests("Receiver"))
    call = {
        "to": target,
        "function": "onBalance(address,uint256,uint256)",
        "args": [account, "$block", f"$value({account}.BALANCE)"],
        "gas": "200000",
    }
    batch["deliver"] = [call]
    feed = Feed(proving, when=when | {"heartbeat": "10 minutes"}, batch=batch)
    wait_for_look(feed, chain.mine(10))
    chain.mine(2)
    feed.wait_for_runs(1)
    for balance, count in ((10_049, 1), (10_050, 2), (10_001, 2), (9_999, 3), (0, 4)):
        wait_for_look(feed, chain.head)  # Anvil changes the state of this block, not its header
        chain.set_balance(account, balance)
        wait_for_look(feed, chain.mine(10))
        chain.mine(2)  # so that the block is final
        feed.wait_for_runs(count)
        assert len(feed.runs) == count
    wait_until(lambda: feed.read()["lastValue"] == "0", what="the newest value is stored")
    assert int.from_bytes(chain.call(target, "balance()")) == 0
    wait_for_look(feed, chain.mine(10, seconds=90))
    chain.mine(2)
    feed.wait_for_runs(5)
    assert int.from_bytes(chain.call(target, "count()")) == 5


def test_a_feed_runs_at_once_when_it_is_told_to(proving: Service) -> None:
    feed = Feed(proving, every="100000 blocks")

    def run_now() -> requests.Response:
        return proving.post(f"/feeds/{feed.id}/runs")

    run = run_now().json()
    assert run["deliveries"] == ["WAITING"], run
    proving.chain.mine(3)  # so that the block is final
    (done,) = feed.wait_for_runs(1)
    assert done["batchQueryId"] == run["batchQueryId"]
    feed.change(budget="1")
    assert feed.count() == 1
    of_logs = Votes(proving.chain).feed(proving)
    refused = proving.post(f"/feeds/{of_logs.id}/runs")
    assert (refused.status_code, refused.json()["code"]) == (409, "feed_not_runnable")
    send(proving, "DELETE", feed.id)
    assert run_now().json()["code"] == "feed_ended"


def test_one_nodes_false_head_misleads_no_feed(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> None:
    chain, service = new_chain(), new_service()
    bad, *others = (new_node(chain) for _ in range(3))
    service.add_native_chain(chain, bad, *others)
    service.set_limits(poll_interval=0.1)
    chain.deploy("Courier", by_factory=True)
    chain.mine(12)
    votes = Votes(chain)
    with service.serve(**SETTINGS), service.prove(**SETTINGS):
        bad.make_up_head()
        feeds = [Feed(service, every=EVERY_TENTH), votes.feed(service)]
        for node in others:
            node.hang_up()
        time.sleep(1)  # several polls
        for node in others:
            node.recover()
        chain.mine(2 * EVERY)
        block = votes.activate(1)
        feed, of_logs = feeds
        feed.wait_for_more_than(0)
        of_logs.wait_for_runs(1)
        assert max(feed.dues) <= chain.head
        assert next_due(feed) <= chain.head + EVERY
        assert of_logs.dues == [block]


def test_feeds_run_while_all_nodes_but_one_lag(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> None:
    """Differently, so that no other node is close to the newest block."""
    chain, service = new_chain(), new_service()
    nodes = [new_node(chain) for _ in range(3)]
    service.add_native_chain(chain, *nodes)
    service.set_limits(poll_interval=0.1, quorum_wait=1)
    chain.deploy("Courier", by_factory=True)
    chain.mine(300)
    with service.serve(**SETTINGS), service.prove(**SETTINGS):
        feed = Feed(service, every=EVERY_TENTH)
        for number, node in enumerate(nodes[1:], 1):
            node.fall_behind(chain.head - 100 * number)
        chain.mine(2 * EVERY)
        feed.wait_for_more_than(0)


def test_pruned_runs_are_not_run_again(proving: Service) -> None:
    feed = Feed(proving, every=EVERY_TENTH, catchUp="all")
    first = first_due(feed)
    feed.mine_to(first + EVERY)
    old, _ = (run["batchQueryId"] for run in reversed(feed.wait_for_runs(2)))
    proving.execute(f"UPDATE queries_batch SET ended_at = '2020-01-01 00:00:00' WHERE id = '{old}'")

    def prune() -> bool:
        feed.chain.mine()
        proving.manage("prune", "--older-than", "1d")
        return first not in feed.dues

    wait_until(prune, what=lambda: str(feed.read()))  # once its transactions are final
    feed.mine_to(next_due(feed))
    feed.wait_for_runs(2)
    dues = feed.dues
    assert dues == list(range(first + EVERY, dues[-1] + 1, EVERY))
    assert feed.count() == len(dues) + 1


def test_a_forgotten_account_has_no_feeds(proving: Service) -> None:
    """Provers have time to notice a disabled account while its feeds are deleted."""
    batch = {"webhook": {"url": "http://127.0.0.1:1/"}}
    feed = Feed(proving, every=EVERY_TENTH, catchUp="all", batch=batch, owner=1)
    first = first_due(feed)
    feed.mine_to(first + EVERY)
    feed.wait_for_runs(2)
    feed.mine_to(first + 2 * EVERY)  # its newest run may have begun

    def is_refused() -> bool:
        return proving.get("/feeds", key=feed.api_key).status_code == 401

    def forget() -> bool:
        feed.chain.mine()
        try:
            return "is deleted" in proving.manage("forget", OWNERS[1], "--yes").stdout
        except AssertionError as error:
            assert "must become final first" in str(error)
            return False

    with ThreadPoolExecutor(1) as pool, locked_runs(proving) as unlock:
        forgetting = pool.submit(forget)
        wait_until(is_refused)
        feed.mine_to(first + 3 * EVERY)
        time.sleep(1)  # several polls
        unlock()
        is_forgotten = forgetting.result()
    wait_until(lambda: is_forgotten or forget())
    count = feed.count()
    feed.mine_to(first + 4 * EVERY)
    time.sleep(1)  # several polls
    assert feed.count() == count


@contextmanager
def locked_runs(service: Service) -> Iterator[Callable[[], object]]:
    """Keep other transactions from deleting feeds until the function is called. On SQLite nothing
    can come between, because it has one writer.
    """
    if not service.database.startswith("postgres"):
        yield lambda: None
        return
    with psycopg.connect(service.database) as connection:
        connection.execute("SELECT id FROM queries_feedrun FOR UPDATE")
        yield connection.rollback


def test_many_and_large_logs_are_run_once_each_and_stop_no_other_feed(served: Service) -> None:
    """Two provers, one of which is killed. A log that is too large is left out, and one whose data
    is not of the event's types makes no batch.
    """
    chain, count, size = served.chain, 25, 2**16 + 1
    loud = deploy(chain, contract_for_tests("Loud"))
    on = {"address": loud, "event": "Said(uint256 indexed number, bytes data)"}
    with served.prove(**SETTINGS):
        feed, other = Feed(served, on=on), Feed(served, every=EVERY_TENTH, catchUp="all")
        with served.prove(**SETTINGS) as victim:
            chain.send(loud, call_data("say(uint256,uint256)", 1, size))
            chain.send(loud, call_data("lie(uint256)", 2**255))
            block = chain.head + 1
            chain.send(loud, call_data("say(uint256,uint256)", count, 1))
            chain.mine(4)
            lag = "are still to be read"
            wait_until(lambda: lag in (feed.read()["waitsFor"] or ""), what="it says that it lags")
            feed.wait_for_more_than(5)
            victim.kill()
        wait_until(lambda: len(feed.all_runs()) > count, what=lambda: str(feed.all_runs()))
        *runs, first_run = feed.all_runs()
        assert first_run["due"] == f"block:{block - 1}"
        assert first_run["error"]["code"] == "feed_malformed"
        places = {(run["due"], run["logIndex"]) for run in runs}
        assert places == {(f"block:{block}", index) for index in range(count)}
        other.mine_to(first_due(other) + EVERY)
        other.wait_for_runs(2)
    for made in (feed, other):
        made.end()


def test_logs_are_read_for_fewer_blocks_if_the_node_refuses(
    new_service: Callable[[], Service], new_chain: Callable[..., Chain]
) -> None:
    chain, service = new_chain(age=3_600), new_service()
    with closing(Node(chain)) as node:
        service.add_native_chain(chain, node)
        service.set_limits(poll_interval=0.2)
        chain.deploy("Courier", by_factory=True)
        chain.mine(20)
        votes = Votes(chain)
        service.serve(**SETTINGS)
        with service.prove(**SETTINGS):
            feed = votes.feed(service)
        node.list_few_logs(5)
        blocks = []
        for number in range(3):
            blocks.append(votes.activate(number))
            chain.mine(20)
        with service.prove(**SETTINGS):
            feed.wait_for_runs(3)
        assert feed.dues == blocks


def test_logs_until_the_end_of_a_feed_are_run(proving: Service) -> None:
    """Also those whose block becomes final after it."""
    chain, votes = proving.chain, Votes(proving.chain)
    until = int(chain.header("latest")["timestamp"], 16) + 100
    feed = votes.feed(proving, until=until)
    data = call_data("activate(uint256,bytes32)", 1, bytes(32))
    block = int(chain.send(votes.address, data)["blockNumber"], 16)
    chain.mine(1, seconds=200)
    time.sleep(1.5)  # more than a look
    votes.activate(2)  # after the end
    feed.wait_for_runs(1)
    assert feed.wait_for_state("ENDED")["reason"] == "Its time is over."
    assert feed.dues == [block]


def test_a_run_made_by_hand_is_not_made_again(proving: Service) -> None:
    feed = Feed(proving, every=EVERY_TENTH, catchUp="all")
    first = first_due(feed)
    feed.change(state="PAUSED")
    feed.chain.mine(first - feed.chain.head)
    time.sleep(1)  # several polls
    for _ in range(2):
        assert proving.post(f"/feeds/{feed.id}/runs").json()["due"] == f"block:{first}"
    feed.change(state="ACTIVE")
    feed.mine_to(first + EVERY)
    feed.wait_for_runs(2)
    assert feed.dues == [first, first + EVERY]
    assert feed.count() == 2


def test_a_reorg_neither_loses_nor_doubles_a_run(proving: Service) -> None:
    """Of the proof and the delivery. Source and destination are one chain."""
    feed = Feed(proving, every=EVERY_TENTH, catchUp="all")
    first = first_due(feed)
    feed.mine_to(first)
    feed.wait_for_runs(1)
    proving.chain.reorganise(2)
    wait_until(lambda: feed.count() == 1, what="it is delivered again")
    feed.mine_to(first + EVERY)
    feed.wait_for_runs(2)
    assert feed.dues == [first, first + EVERY]
    assert feed.count() == 2
    assert proving.field(HOLDER, first, 1) == HOLDER_BALANCE


class Watcher:
    """A feed of an account's balance whenever it changes, delivered to a contract."""

    def __init__(self, service: Service, account: int, every: str = "1 block") -> None:
        self.chain, self.account = service.chain, f"0x{account:040x}"
        self.target = deploy(self.chain, contract_for_tests("Receiver"))
        args = [self.account, "$block", f"$value({self.account}.BALANCE)"]
        function = "onBalance(address,uint256,uint256)"
        call = {"to": self.target, "function": function, "args": args, "gas": "200000"}
        batch = request({31337: {"block:$due": accounts(self.account)}}) | {"deliver": [call]}
        when = {"value": f"{self.account}.BALANCE", "every": every}
        self.feed = Feed(service, when=when, batch=batch)

    def pay(self, wei: int) -> int:
        """Pay the account in a block of its own. Returns the block's number."""
        return int(self.chain.send(self.account, "0x", wei)["blockNumber"], 16)

    def delivered_balance(self) -> int:
        return int.from_bytes(self.chain.call(self.target, "balance()"))

    def wait_for(self, balance: int) -> None:
        """Wait until this balance is delivered and nothing else is under way."""

        def is_delivered() -> bool:
            self.chain.mine()
            runs, value = self.feed.runs, self.feed.read()["lastValue"]
            is_over = {state for run in runs for state in run["deliveries"]} <= {"DELIVERED"}
            return is_over and value == str(balance) and self.delivered_balance() == balance

        wait_until(is_delivered, what=lambda: str((self.feed.read(), self.delivered_balance())))


@pytest.mark.parametrize("depth", [1, 2])
def test_a_change_that_a_reorg_moves_is_delivered(proving: Service, depth: int) -> None:
    """The run for it proves the old value, because the block where it was read has another one."""
    watcher = Watcher(proving, 0xC0FFEE + depth)
    watcher.pay(1)
    watcher.wait_for(1)
    count = len(watcher.feed.runs)
    block = watcher.pay(1)
    watcher.feed.wait_for_more_than(count)
    assert watcher.feed.dues[-1] >= block
    watcher.chain.reorganise(watcher.chain.head - block + depth)
    watcher.pay(1)  # the transaction again, in a later block
    watcher.wait_for(2)
    assert len(watcher.feed.runs) >= count + 2


def test_a_change_that_a_reorg_undoes_leaves_the_old_value(proving: Service) -> None:
    watcher = Watcher(proving, 0xDECAF)
    watcher.pay(1)
    watcher.wait_for(1)
    count = len(watcher.feed.runs)
    block = watcher.pay(1)
    watcher.feed.wait_for_more_than(count)
    watcher.chain.reorganise(watcher.chain.head - block + 1)
    watcher.wait_for(1)
    # The run for it, and another one if the old value was read while that was open.
    assert len(watcher.feed.runs) <= count + 2


def test_a_change_whose_delivery_failed_is_delivered_again(proving: Service) -> None:
    watcher = Watcher(proving, 0xFA11)
    watcher.pay(1)
    watcher.wait_for(1)
    count = len(watcher.feed.runs)
    watcher.chain.send(watcher.target, call_data("setRefuses(bool)", True))
    watcher.pay(1)
    watcher.feed.wait_for_more_than(count)

    def has_failed() -> bool:
        watcher.chain.mine()
        return any(run["deliveries"] == ["FAILED"] for run in watcher.feed.runs)

    wait_until(has_failed, what="a delivery has failed")
    assert watcher.feed.read()["lastValue"] == "1"
    watcher.chain.send(watcher.target, call_data("setRefuses(bool)", False))
    wait_until(lambda: watcher.chain.mine() and watcher.delivered_balance() == 2)


@pytest.fixture(scope="module")
def retrying(install: Install) -> Iterator[Service]:
    """A refused delivery is tried again for some minutes."""
    with closing(Chain(age=3_600)) as chain, install() as service:
        service.add_native_chain(chain)
        service.set_limits(poll_interval=0.1, delivery_pause=3)
        chain.deploy("Courier", by_factory=True)
        chain.mine(40)
        service.serve(**SETTINGS)
        service.prove(**SETTINGS)
        yield service


def wait_for_failure(feed: Feed, text: str) -> None:
    wait_until(lambda: text in (feed.read()["failure"] or ""), what=text)


def test_a_feed_is_paused_while_its_deliveries_are_refused(retrying: Service) -> None:
    feed = Feed(retrying, every=EVERY_TENTH)
    feed.chain.send(feed.target, call_data("setRefuses(bool)", True))
    for count in range(1, 6):
        feed.mine_to(next_due(feed))
        wait_for_failure(feed, "Its last run has" if count == 1 else f"Its last {count} runs have")
    failure = feed.read()["failure"]
    assert "failed or are refused. The contract reverts" in failure
    assert feed.read()["state"] == "ACTIVE"
    feed.mine_to(next_due(feed))
    assert feed.wait_for_state("PAUSED")["reason"] == failure
    assert [run["deliveries"] for run in feed.runs] == [["WAITING"]] * 5
    assert feed.read()["failure"] is None
    feed.end()


def test_an_open_run_counts_towards_the_budget_where_proving_is_free(retrying: Service) -> None:
    feed = Feed(retrying, every=EVERY_TENTH, budget=str(10**18))
    feed.chain.send(feed.target, call_data("setRefuses(bool)", True))
    feed.mine_to(first_due(feed))
    wait_until(lambda: feed.read()["failure"], what="its delivery is refused")
    (run,) = feed.runs
    spent = int(retrying.status(run["batchQueryId"])["spent"])
    assert spent > 0
    feed.change(budget=str(2 * spent - 1))
    feed.mine_to(next_due(feed))
    wait_until(lambda: feed.read()["waitsFor"], what=lambda: str(feed.read()))
    amount = short_amount(spent, "ETH")
    assert f"reserve {amount}, and the next one reserves {amount}" in feed.read()["waitsFor"]
    feed.change(budget=str(2 * spent))
    feed.wait_for_more_than(1)
    feed.end()


def test_a_feed_runs_once_in_a_minute_however_fast_blocks_come(served: Service) -> None:
    feed = Feed(served, every=EVERY_TENTH)
    with served.prove(**SETTINGS | {"FEED_SECONDS": "60"}):
        for _ in range(20):
            served.chain.mine(EVERY)
            time.sleep(0.15)  # more than a poll
        feed.wait_for_more_than(0)
        assert len(feed.runs) == 1
    feed.end()


def test_many_late_feeds_hold_up_no_other(served: Service) -> None:
    """They are more than a poll takes, and each has many runs to make up for. It is the last test,
    because provers take some time for their batches.
    """
    chain = served.chain
    late_feeds = [Feed(served, every=EVERY_TENTH, catchUp="all") for _ in range(40)]
    chain.mine(200 * EVERY)
    feed = Feed(served, every=EVERY_TENTH)
    chain.mine(2 * EVERY)
    with served.prove(**SETTINGS):
        feed.wait_for_more_than(0)
    (oldest, *_) = (late.dues[0] for late in late_feeds if late.runs)
    assert 90 * EVERY < chain.head - oldest < 110 * EVERY  # at most 100 runs are made up for
    for made in (*late_feeds, feed):
        made.end()
