"""What is asked for during a run, and whoever asks: batch after batch, until each is answered.

A batch whose answer was lost is sent again with its Idempotency-Key, as a client does; and some
that were answered as well, once or twice at the same time.
"""

import random
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import requests

from tests.chaos.asked import Asked
from tests.chaos.chains import CHAIN_A, CHAIN_B, EARLY, FINALITY, SLOTS, Chains, told

PROPS = ("NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH")
HEADER = ("PARENT_HASH", "STATE_ROOT", "LOGS_BLOOM", "BLOCK_NUMBER", "TIMESTAMP", "EXTRA_DATA")
ROUTES = ((CHAIN_A, CHAIN_A), (CHAIN_B, CHAIN_B), (CHAIN_A, CHAIN_B), (CHAIN_B, CHAIN_A))
KINDS = {
    "accounts": 10, "out of reach": 1, "time": 2, "refused": 1, "blocks": 4, "too early": 1,
    "header": 3,
}  # fmt: skip
BACK = 16  # blocks: few, so that batches meet
SECONDS = 10  # for an answer to a submission


@dataclass
class Asker:
    """Thinks up batches, and submits them in a thread of its own."""

    chains: Chains
    address: str
    api_key: str
    chance: random.Random
    pause: float  # seconds between two, on average
    webhook: str  # the address of a receiver
    asked: list[Asked] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stopped.wait(self.chance.expovariate(1 / self.pause)):
            self.asked.append(self.think_up(len(self.asked)))
            for each in self.asked:
                if not each.is_answered and not self.stopped.is_set():
                    self.submit(each)
            if self.chance.random() < 0.3:
                self.submit_again(self.chance.choice(self.asked))

    def submit_again(self, it: Asked) -> None:
        """Twice at once, as a client does that lost its patience."""
        if not it.id:
            return
        copies = [replace(it, id="") for _ in range(2)]
        threads = [threading.Thread(target=self.submit, args=(each,)) for each in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        it.again += [each.id or each.refusal for each in copies if each.is_answered]

    def submit_the_rest(self, seconds: float) -> None:
        """Those that got no answer while the service could give none."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            waiting = [each for each in self.asked if not each.is_answered]
            if not waiting:
                return
            for each in waiting:
                self.submit(each)
            time.sleep(0.5)

    def submit_all_again(self) -> None:
        """When all is done: nothing new may come of it."""
        for each in self.asked:
            self.submit_again(each)

    def submit(self, it: Asked) -> None:
        headers = {"api-key": self.api_key, "Idempotency-Key": it.key}
        try:
            answer = requests.post(
                f"{self.address}/submit-batch-query",
                json=it.content,
                headers=headers,
                timeout=SECONDS,
            )
            content = answer.json()
        except (requests.RequestException, ValueError):
            it.lost += 1
            return
        if answer.status_code == 200:
            it.id = content["internalId"]
        elif answer.status_code >= 500:
            it.lost += 1
        elif content["retryable"]:
            it.put_off += 1
        else:
            it.refusal = content["code"]

    def think_up(self, place: int) -> Asked:
        """Each kind once before any is repeated."""
        kinds, weights = list(KINDS), list(KINDS.values())
        kind = kinds[place] if place < len(kinds) else self.chance.choices(kinds, weights)[0]
        source, destination = self.chance.choice(ROUTES)
        entries: dict[str, Any]
        must_be = "DONE"
        if kind == "refused":
            return self._refused(place)
        if kind == "accounts":
            entries = {f"block:{self._block(source)}": self._accounts(source)}
        elif kind == "header":
            entry = {"header": self._some(HEADER)}
            entries = {f"block:{self._block(source)}": entry}
        elif kind == "time":
            block = told(
                self.chains.of(source).node.url,
                "eth_getBlockByNumber",
                hex(self._block(source)),
                False,  # noqa: FBT003
            )
            seconds = int(block["timestamp"], 16)
            entries = {f"timestamp:{seconds}": self._accounts(source)}
        elif kind == "blocks":
            blocks = {self._block(source) for _ in range(3)}
            entries = {f"block:{each}": self._accounts(source) for each in sorted(blocks)}
        elif kind == "too early":
            entries, must_be = {"timestamp:1": self._accounts(source)}, "time_too_early"
        else:
            source, destination = CHAIN_A, CHAIN_B
            block = self.chance.randrange(1, EARLY // 2)
            entries, must_be = {f"block:{block}": self._accounts(source)}, "block_out_of_reach"
        return self._asked(place, kind, must_be, destination, {str(source): entries})

    def _refused(self, place: int) -> Asked:
        """What is wrong by itself, whatever state the service is in."""
        data: dict[str, Any] = self.chance.choice(
            [
                {"31339": {"block:1": {"header": ["BLOCK_NUMBER"]}}},
                {str(CHAIN_A): {"block:1": {"accounts": {"0x12": {"props": ["NONCE"]}}}}},
                {str(CHAIN_A): {"block:1": {"header": ["AGE"]}}},
                {str(CHAIN_A): {"block:x": {"header": ["BLOCK_NUMBER"]}}},
            ]
        )
        return self._asked(place, "refused", "refused", CHAIN_A, data)

    def _asked(
        self, place: int, kind: str, must_be: str, destination: int, data: dict[str, Any]
    ) -> Asked:
        content: dict[str, Any] = {"destinationChainId": str(destination), "fee": "0", "data": data}
        if self.chance.random() < 0.5:
            content["webhook"] = {"url": self.webhook}
        return Asked(kind, content, f"chaos-{place}", must_be)

    def _block(self, source: int) -> int:
        """A new one. A's early ones are left alone, so that those are too far for B."""
        head = int(told(self.chains.of(source).node.url, "eth_blockNumber"), 16)
        newest = head - self.chance.choice((0, FINALITY))
        return max(newest - self.chance.randrange(BACK), self.chains.of(source).first)

    def _accounts(self, source: int) -> dict[str, Any]:
        place = self.chains.of(source)
        accounts: dict[str, Any] = {
            each: {"props": self._some(PROPS)}
            for each in self.chance.sample(place.accounts, self.chance.randrange(1, 4))
        }
        if self.chance.random() < 0.5:
            slots = self.chance.sample(range(SLOTS), self.chance.randrange(1, 4))
            asked = {"slots": [hex(each) for each in slots]}
            accounts[place.writer] = asked | (
                {"props": self._some(PROPS)} if self.chance.random() < 0.5 else {}
            )
        return {"accounts": accounts}

    def _some(self, names: tuple[str, ...]) -> list[str]:
        return self.chance.sample(names, self.chance.randrange(1, len(names) + 1))
