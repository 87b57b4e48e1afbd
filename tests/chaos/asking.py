"""What is asked for during a run, and whoever asks: batch after batch, until each is answered.

A batch whose answer was lost is sent again with its Idempotency-Key, as a client does; and some
that were answered as well, once or twice at the same time.
"""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import requests
from eth_utils.address import to_checksum_address

from tests.chaos.asked import Asked
from tests.chaos.chains import CHAIN_A, CHAIN_B, EARLY, FINALITY, FREE, SLOTS, Chains, told
from tests.chaos.cost_checks import TOO_LOW

PROPS = ("NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH")
HEADER = ("PARENT_HASH", "STATE_ROOT", "LOGS_BLOOM", "BLOCK_NUMBER", "TIMESTAMP", "EXTRA_DATA")
ROUTES = ((CHAIN_A, CHAIN_A), (CHAIN_B, CHAIN_B), (CHAIN_A, CHAIN_B), (CHAIN_B, CHAIN_A))
KINDS = {
    "accounts": 10, "out of reach": 1, "time": 2, "refused": 1, "blocks": 4, "too early": 1,
    "header": 3, "fee too little": 1, "fee runs out": 1, "fee near the cost": 2,
}  # fmt: skip
# Wei. Any share of any transaction costs more than the largest of the first; each account of its
# own some 30,000 gas and more, of which none was ever cheaper than a gwei; all that is ever asked
# for in one batch costs less than the last.
LEAST, SOME, NEAR, ENOUGH = (0, 9), (0.9e14, 1.3e14), (13.5, 15.5), 10**17
ALONE = 5  # blocks in which a batch asks for an account that nobody else asks for
BACK = 16  # blocks: few, so that batches meet
SECONDS = 10  # for an answer to a submission


@dataclass
class Asker:
    """Thinks up batches, and submits them in a thread of its own."""

    chains: Chains
    address: str
    api_keys: Sequence[str]  # of each who asks
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
        headers = {"api-key": self.api_keys[it.owner], "Idempotency-Key": it.key}
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
        elif kind.startswith("fee "):
            return self._poor(place, kind)
        else:
            source, destination = CHAIN_A, CHAIN_B
            block = self.chance.randrange(1, EARLY // 2)
            entries, must_be = {f"block:{block}": self._accounts(source)}, "block_out_of_reach"
        return self._asked(place, kind, must_be, destination, {str(source): entries})

    def _poor(self, place: int, kind: str) -> Asked:
        """Where proving is not free: too little for anything, for all of it, or perhaps."""
        source, destination = self.chance.choice([each for each in ROUTES if each[1] not in FREE])
        first = self._block(source)
        if kind == "fee near the cost":
            fee = int(10 ** self.chance.uniform(*NEAR))
            entries = {f"block:{first}": self._accounts(source)}
            data = {str(source): entries}
            return self._asked(place, kind, "DONE", destination, data, fee, TOO_LOW)
        account = to_checksum_address(self.chance.randbytes(20))
        blocks = 1 if kind == "fee too little" else ALONE
        little = 10 ** self.chance.uniform(*LEAST) if blocks == 1 else self.chance.uniform(*SOME)
        alone = {"accounts": {account: {"props": ["NONCE"]}}}
        data = {str(source): {f"block:{first + each}": alone for each in range(blocks)}}
        return self._asked(place, kind, TOO_LOW, destination, data, int(little))

    def _refused(self, place: int) -> Asked:
        """What is wrong by itself, whatever state the service is in."""
        no_fee = {str(CHAIN_B): {f"block:{self._block(CHAIN_B)}": {"header": ["BLOCK_NUMBER"]}}}
        wrong: list[dict[str, Any]] = [
            no_fee,
            {"31339": {"block:1": {"header": ["BLOCK_NUMBER"]}}},
            {str(CHAIN_A): {"block:1": {"accounts": {"0x12": {"props": ["NONCE"]}}}}},
            {str(CHAIN_A): {"block:1": {"header": ["AGE"]}}},
            {str(CHAIN_A): {"block:x": {"header": ["BLOCK_NUMBER"]}}},
        ]
        data = self.chance.choice(wrong)
        destination = CHAIN_B if data is no_fee else CHAIN_A
        return self._asked(place, "refused", "refused", destination, data, 0)

    def _asked(  # noqa: PLR0913, PLR0917  (what a batch is made of)
        self,
        place: int,
        kind: str,
        must_be: str,
        destination: int,
        data: dict[str, Any],
        fee: int | None = None,
        or_else: str = "",
    ) -> Asked:
        offered = fee if fee is not None else 0 if destination in FREE else ENOUGH
        content: dict[str, Any] = {
            "destinationChainId": str(destination),
            "fee": str(offered),
            "data": data,
        }
        if self.chance.random() < 0.5:
            content["webhook"] = {"url": self.webhook}
        owner = self.chance.randrange(len(self.api_keys))
        return Asked(kind, content, f"chaos-{place}", must_be, or_else, owner)

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
