"""Ten feeds, through seven days by the chains' clocks."""

import random
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import requests

from tests.builds import contract_for_tests
from tests.chaos.clients import FEE, MAX_IDLE_SECONDS, Batch, Fact
from tests.chaos.installation import EXISTING, FINALITY, A, B, Installation, send
from tests.rigs.anvil import RpcError, call_data
from tests.rigs.service import accounts, request, wait_until
from tests.scenarios.deliveries import ON_BALANCE, OPEN, Target, deploy

HOUR = 3_600
ACCOUNT = EXISTING[1]
BUDGET = FEE + FEE // 1_000  # for a few runs: each reserves its fee and spends far less


class Plan(NamedTuple):
    """What a feed is to do."""

    source: int
    destination: int
    every: str  # so many blocks or hours; of ON_LOGS, each log; of WHEN_CHANGED, each change
    catch_up: str = "all"
    budget: int = 0  # wei in 24 hours; 0: unlimited
    can_refuse: bool = False  # its target
    has_webhook: bool = False

    @property
    def is_time(self) -> bool:
        return self.every.endswith("hours")

    @property
    def interval(self) -> int:
        """Blocks or seconds."""
        count = int(self.every.split()[0])
        return count * HOUR if self.is_time else count


ON_LOGS, WHEN_CHANGED = "log", "1 block, if changed"
WATCHED_CHAIN = A
PLANS = (
    Plan(A, A, "5 blocks"),
    Plan(B, B, "7 blocks", "latest"),
    Plan(A, B, "9 blocks", budget=BUDGET),
    Plan(B, A, ON_LOGS, has_webhook=True),
    Plan(WATCHED_CHAIN, A, WHEN_CHANGED, "latest"),
    Plan(A, A, "3 hours"),
    Plan(B, B, "4 hours", "latest"),
    Plan(A, B, "6 hours", has_webhook=True),
    Plan(B, B, "6 hours", can_refuse=True),
    Plan(B, A, "24 hours"),
)
VOTE = "VotingActivated(uint256 indexed id, bytes32 indexed blockHash, uint24 delay)"
VOTING_SENDERS = 4, 5  # with a log each, so that a block may have two
Run = tuple[int, int]  # its due, and of a log the index in the block


@dataclass
class Feed:
    """A feed, with the contract that counts its deliveries."""

    plan: Plan
    target: Target
    id: str
    state: dict[str, Any]  # as last read
    first_due: int = 0
    runs: list[dict[str, Any]] = field(default_factory=list)  # oldest first

    def __str__(self) -> str:
        plan = self.plan
        route = f"{plan.source} → {plan.destination}"
        return f"feed {self.id} ({route}, every {plan.every}, {plan.catch_up})"

    @property
    def dues(self) -> list[Run]:
        return [(_number(run["due"]), run["logIndex"] or 0) for run in self.runs]


def _number(selector: str) -> int:
    return int(selector.partition(":")[2] or 0)


class Feeds:
    """Make the feeds, end them, and check their runs and deliveries."""

    def __init__(self, installation: Installation) -> None:
        self._installation, self._chains = installation, installation.chains
        self.are_refused = False  # deliveries to the targets that can refuse
        for chain in self._chains.values():
            chain.deploy("Courier", by_factory=True)
        code = contract_for_tests("VoteSnapshots")
        self._votes = {id_: deploy(chain, code) for id_, chain in self._chains.items()}
        self._has_votes = True
        self._feeds = [self._new_feed(plan) for plan in PLANS]
        for chain in self._chains.values():
            chain.mine(FINALITY, seconds=1)  # no reorg removes their targets
        self.batches: list[Batch] = []  # of all runs, once the feeds have ended

    def _new_feed(self, plan: Plan) -> Feed:
        target = Target(self._chains[plan.destination])
        args = [ACCOUNT, "$block", f"$value({ACCOUNT}.BALANCE)"]
        call = {"to": target.address, "function": ON_BALANCE, "args": args, "gas": "200000"}
        key = "timestamp:$due" if plan.is_time else "block:$due"
        data = {plan.source: {key: accounts(ACCOUNT, props=["BALANCE", "NONCE"])}}
        more = {"webhook": {"url": self._installation.receiver.url}} if plan.has_webhook else {}
        fee = str(0 if plan.destination == A else FEE)
        batch = request(data, to=plan.destination, fee=fee, deliver=[call], **more)
        value = {"value": f"{ACCOUNT}.BALANCE", "every": "1 block"}
        triggers: dict[str, dict[str, Any]] = {
            ON_LOGS: {"on": {"address": self._votes[plan.source], "event": VOTE}},
            WHEN_CHANGED: {"when": value},
        }
        trigger = triggers.get(plan.every, {"every": plan.every})
        body = {**trigger, "batch": batch, "catchUp": plan.catch_up}
        if plan.budget:
            body["budget"] = str(plan.budget)
        created = self._request("POST", "/feeds", json=body)  # once a prover has read the head
        return Feed(plan, target, created["id"], created, _number(created["nextDue"] or ""))

    def _request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Repeat the request until the server has started and is not too busy."""
        service = self._installation.service

        def request_once() -> dict[str, Any]:
            headers = {"api-key": service.keys[0]}
            with suppress(requests.RequestException):
                url = f"{service.url}{path}"
                answer = requests.request(method, url, headers=headers, timeout=60, **options)
                content: dict[str, Any] = answer.json()
                assert answer.ok or content["retryable"], content
                return content if answer.ok else {}
            return {}

        return wait_until(request_once, what=path)

    def keep_busy(self, stopped: threading.Event) -> None:
        """Have contracts log votes. Every second, tell targets whether to refuse, because a reorg
        may undo it.
        """
        chance = random.Random(f"votes {self._installation.options.seed}")
        while not stopped.wait(0.9):
            for chain_id, chain in self._chains.items():
                if self._has_votes and chance.random() < 0.15:
                    data = call_data("activate(uint256,bytes32)", chance.getrandbits(64), bytes(32))
                    for sender in VOTING_SENDERS:
                        send(chain, sender, {"to": self._votes[chain_id], "data": data})
            for feed in self._feeds:
                try:
                    is_refused = bool(feed.target.read("refuses()"))
                except RpcError:  # a reorg has just taken back the newest block
                    continue
                if feed.plan.can_refuse and is_refused != self.are_refused:
                    data = call_data("setRefuses(bool)", self.are_refused)
                    send(feed.target.chain, 3, {"to": feed.target.address, "data": data})

    def end(self) -> Iterator[str]:
        """Wait until all that is due by now has run; then end the feeds. Yield problems."""
        self._has_votes = False
        self._installation.payees.remove(ACCOUNT)
        time.sleep(5)  # until the last ones are mined
        heads = {chain_id: chain.header("latest") for chain_id, chain in self._chains.items()}
        for feed in self._feeds:
            if feed.plan.budget:
                yield from self._check_budget(feed)
        late, progress, count = self._feeds, time.monotonic(), 0
        while late and time.monotonic() < progress + MAX_IDLE_SECONDS:
            time.sleep(1)
            if (new_count := sum(len(feed.runs) for feed in self._read_all())) > count:
                count, progress = new_count, time.monotonic()
            late = [feed for feed in self._feeds if self._is_late(feed, heads[feed.plan.source])]
        for feed in late:
            yield f"{feed} has not run what is due: {feed.state}"
        for feed in self._feeds:
            self._request("DELETE", f"/feeds/{feed.id}")
        for feed in self._read_all():
            self.batches += self._batches_of(feed)

    def _check_budget(self, feed: Feed) -> Iterator[str]:
        """All runs are of the last 24 hours. Then allow enough for those that wait."""
        self._read(feed)
        batches = [run["batchQueryId"] for run in feed.runs if run["batchQueryId"]]
        path = "/batch-query-status"
        spent = [
            int(self._request("GET", path, params={"batchQueryId": batch})["spent"])
            for batch in batches
        ]
        if sum(spent) > feed.plan.budget or not batches:
            yield f"{feed} has spent {spent}"
        self._request("PATCH", f"/feeds/{feed.id}", json={"budget": str(1_000 * FEE)})

    def _is_late(self, feed: Feed, head: dict[str, Any]) -> bool:
        if feed.state["state"] != "ACTIVE":
            return False
        if feed.plan.every == ON_LOGS:
            return len(feed.runs) < len(self._logs(feed.plan.source))
        if feed.plan.every == WHEN_CHANGED:
            balance = self._chains[feed.plan.source].balance(ACCOUNT)
            return str(feed.state["lastValue"]) != str(balance)
        position = int(head["timestamp" if feed.plan.is_time else "number"], 16)
        return _number(feed.state["nextDue"]) <= position

    def _logs(self, chain_id: int) -> list[Run]:
        log_filter = {"address": self._votes[chain_id], "fromBlock": "0x0"}
        logs = self._chains[chain_id].rpc("eth_getLogs", log_filter)
        return [(int(log["blockNumber"], 16), int(log["logIndex"], 16)) for log in logs]

    def count_open(self) -> int:
        """The number of deliveries that have not ended."""
        runs = [run for feed in self._read_all() for run in feed.runs]
        return sum(state in OPEN for run in runs for state in run["deliveries"])

    def _read_all(self) -> list[Feed]:
        for feed in self._feeds:
            self._read(feed)
        return self._feeds

    def _read(self, feed: Feed) -> None:
        """Read its state and all pages of its runs."""
        runs: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            feed.state = self._request("GET", f"/feeds/{feed.id}", params=cursor)
            runs += feed.state["runs"]
            cursor = {"cursor": feed.state["cursor"]}
            if cursor["cursor"] is None:
                break
        feed.runs = runs[::-1]

    def _batches_of(self, feed: Feed) -> Iterator[Batch]:
        chain, plan = self._chains[feed.plan.source], feed.plan
        numbers = range(chain.head + 1)
        for run in feed.runs:
            block = _number(run["due"])
            if plan.is_time:
                later = bisect_right(
                    numbers, block, key=lambda n: int(chain.header(n)["timestamp"], 16)
                )
                block = later - 1
            names = ("BALANCE", "NONCE")
            facts = {Fact(plan.source, plan.destination, block, ACCOUNT, name) for name in names}
            body = {"feed": feed.id, **run}
            if plan.has_webhook:
                body["webhook"] = self._installation.receiver.url
            yield Batch(0, body, facts, id=run["batchQueryId"] or "", refused=str(run["error"]))

    def problems(self) -> Iterator[str]:
        """Each due has one run, whose delivery has arrived once."""
        for feed in self._feeds:
            yield from self._check_dues(feed)
            yield from self._check_deliveries(feed)

    def _check_dues(self, feed: Feed) -> Iterator[str]:
        dues, plan = feed.dues, feed.plan
        if feed.state["reason"] != "Its owner ended it.":
            yield f"{feed} has ended: {feed.state['reason']}"
        if not dues:
            yield f"{feed} has never run"
            return
        if plan.every == ON_LOGS:
            expected = self._logs(plan.source)
        elif plan.catch_up == "all":
            expected = [(due, 0) for due in range(feed.first_due, dues[-1][0] + 1, plan.interval)]
        else:
            expected = sorted({(due, 0) for due, _ in dues if not due % plan.interval})
        if dues != expected:
            missed, doubled = set(expected) - set(dues), Counter(dues) - Counter(set(dues))
            yield f"{feed} has missed {missed} and doubled {doubled}: {dues}"

    def _check_deliveries(self, feed: Feed) -> Iterator[str]:
        for run in feed.runs:
            if run["deliveries"] != ["DELIVERED"]:
                yield f"{feed}, {run['due']}: its delivery is {run['deliveries']}"
        blocks = Counter(
            fact.block
            for batch in self.batches
            if batch.body["feed"] == feed.id
            for fact in batch.facts
            if fact.name == "BALANCE"
        )
        counts = {block: feed.target.read("deliveries(uint256)", block) for block in blocks}
        if counts != blocks or feed.target.read("count()") != len(feed.runs):
            wrong = {block: count for block, count in counts.items() if count != blocks[block]}
            total = feed.target.read("count()")
            yield f"{feed}: {total} deliveries of {len(feed.runs)} runs, wrong are {wrong}"
        if feed.plan.every == WHEN_CHANGED:
            balance = self._chains[feed.plan.source].balance(ACCOUNT)
            if (delivered := feed.target.read("balance()")) != balance:
                yield f"{feed}: its contract has {delivered}, but the account has {balance}"
