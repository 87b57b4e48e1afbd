"""Ten feeds, through seven days by the chains' clocks."""

import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import requests

from tests.chaos.clients import FEE, MAX_IDLE_SECONDS, Batch, Fact
from tests.chaos.installation import EXISTING, FINALITY, A, B, Installation, send
from tests.rigs.anvil import DAY, call_data
from tests.rigs.service import accounts, request, wait_until
from tests.scenarios.deliveries import ON_BALANCE, OPEN, Target

HOUR = 3_600
ACCOUNT = EXISTING[1]
BUDGET = FEE + FEE // 1_000  # for a few runs: each reserves its fee and spends far less


class Plan(NamedTuple):
    """What a feed is to do."""

    source: int
    destination: int
    every: dict[str, int]
    catch_up: str = "all"
    budget: int = 0  # wei in 24 hours; 0: unlimited
    can_refuse: bool = False  # its target
    has_webhook: bool = False

    @property
    def interval(self) -> int:
        (interval,) = self.every.values()
        return interval


PLANS = (
    Plan(A, A, {"blocks": 5}),
    Plan(B, B, {"blocks": 7}, "latest"),
    Plan(A, B, {"blocks": 9}, budget=BUDGET),
    Plan(B, A, {"blocks": 11}, has_webhook=True),
    Plan(A, A, {"seconds": 3 * HOUR}),
    Plan(B, B, {"seconds": 4 * HOUR}, "latest"),
    Plan(A, B, {"seconds": 6 * HOUR}, has_webhook=True),
    Plan(B, A, {"seconds": 8 * HOUR}, "latest"),
    Plan(B, B, {"seconds": 6 * HOUR}, can_refuse=True),
    Plan(A, A, {"seconds": DAY}),
)


@dataclass
class Feed:
    """A feed, with the contract that counts its deliveries."""

    plan: Plan
    target: Target
    id: str
    first_due: int
    state: dict[str, Any] = field(default_factory=dict)  # as last read
    runs: list[dict[str, Any]] = field(default_factory=list)  # oldest first

    def __str__(self) -> str:
        plan = self.plan
        route = f"{plan.source} → {plan.destination}"
        return f"feed {self.id} ({route}, every {plan.every}, {plan.catch_up})"

    @property
    def dues(self) -> list[int]:
        return [_number(run["due"]) for run in self.runs]


def _number(selector: str) -> int:
    return int(selector.partition(":")[2])


class Feeds:
    """Make the feeds, end them, and check their runs and deliveries."""

    def __init__(self, installation: Installation) -> None:
        self._installation, self._chains = installation, installation.chains
        self.are_refused = False  # deliveries to the targets that can refuse
        for chain in self._chains.values():
            chain.deploy("Courier", by_factory=True)
        self._feeds = [self._new_feed(plan) for plan in PLANS]
        for chain in self._chains.values():
            chain.mine(FINALITY, seconds=1)  # no reorg removes their targets
        self.batches: list[Batch] = []  # of all runs, once the feeds have ended

    def _new_feed(self, plan: Plan) -> Feed:
        target = Target(self._chains[plan.destination])
        args = [ACCOUNT, "$block", f"$value({ACCOUNT}.BALANCE)"]
        call = {"to": target.address, "function": ON_BALANCE, "args": args, "gas": "200000"}
        key = "timestamp:$due" if "seconds" in plan.every else "block:$due"
        data = {plan.source: {key: accounts(ACCOUNT, props=["BALANCE", "NONCE"])}}
        more = {"webhook": {"url": self._installation.receiver.url}} if plan.has_webhook else {}
        fee = str(0 if plan.destination == A else FEE)
        batch = request(data, to=plan.destination, fee=fee, deliver=[call], **more)
        body = {"every": plan.every, "batch": batch, "catchUp": plan.catch_up}
        if plan.budget:
            body["budget"] = str(plan.budget)
        created = self._request("POST", "/feeds", json=body)  # once a prover has read the head
        return Feed(plan, target, created["id"], _number(created["nextDue"]))

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

    def switch_refusals(self, stopped: threading.Event) -> None:
        """Every second, tell targets whether to refuse, because a reorg may undo it."""
        while not stopped.wait(0.9):
            for feed in self._feeds:
                is_refused = bool(feed.target.read("refuses()"))
                if feed.plan.can_refuse and is_refused != self.are_refused:
                    data = call_data("setRefuses(bool)", self.are_refused)
                    send(feed.target.chain, 3, {"to": feed.target.address, "data": data})

    def end(self) -> Iterator[str]:
        """Wait until all that is due by now has run; then end the feeds. Yield problems."""
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
        position = int(head["timestamp" if "seconds" in feed.plan.every else "number"], 16)
        return feed.state["state"] == "ACTIVE" and _number(feed.state["nextDue"]) <= position

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
            if "seconds" in plan.every:
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
        dues, interval = feed.dues, feed.plan.interval
        if feed.state["reason"] != "Its owner ended it.":
            yield f"{feed} has ended: {feed.state['reason']}"
        if not dues:
            yield f"{feed} has never run"
        elif feed.plan.catch_up == "all":
            expected = range(feed.first_due, dues[-1] + 1, interval)
            if dues != list(expected):
                missed, doubled = set(expected) - set(dues), Counter(dues) - Counter(set(dues))
                yield f"{feed} has missed {missed} and doubled {doubled}: {dues}"
        elif dues != sorted(set(dues)) or any(due % interval for due in dues):
            yield f"{feed} has not run once for each due, in order: {dues}"

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
