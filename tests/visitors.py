"""Programs that submit batches one after the other, and what was answered to each."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests
from urllib3.exceptions import MaxRetryError

from explorer.demo.local_node import LocalNode
from tests.local_chain import CHAIN_ID, HOLDER

PROGRAMS = 4
PAUSE = 0.2  # seconds, after each answer
ONE_ENDS_WITHIN = 60  # seconds


@dataclass
class Visitors:
    """They repeat what nobody answered, without an Idempotency-Key."""

    address: str
    key: str
    newest: int
    blocks: int  # to ask for; where they are few, several ask for the same
    accepted: dict[str, str] = field(default_factory=dict)  # visit → batch
    refused: int = 0  # at connect
    cut: int = 0  # connected, and closed before a byte of an answer came
    broken: list[str] = field(default_factory=list)  # answers that were no whole ones
    _stopped: threading.Event = field(default_factory=threading.Event)

    def submit(self, number: int) -> None:
        """Until it is answered."""
        name = f"visit-{number}"
        entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        block = f"block:{self.newest - number % self.blocks}"
        batch = {
            "destinationChainId": str(CHAIN_ID),
            "fee": "0",
            "data": {str(CHAIN_ID): {block: entry}},
        }
        while True:
            try:
                answer = self._post(batch)
            except requests.ConnectionError as fault:
                refused = isinstance(fault.args[0], MaxRetryError)
                self.refused, self.cut = self.refused + refused, self.cut + (not refused)
                time.sleep(0.1)
                continue
            except requests.RequestException as cut:
                self.broken.append(repr(cut))
                return
            if answer.status_code != requests.codes.ok:
                self.broken.append(f"{answer.status_code} {answer.text}")
                return
            self.accepted[name] = answer.json()["internalId"]
            return

    def _post(self, batch: dict[str, Any]) -> requests.Response:
        place = f"{self.address}/submit-batch-query"
        return requests.post(place, json=batch, headers={"api-key": self.key}, timeout=60)

    def statuses(self) -> set[str]:
        """Of all that was accepted, once all have ended."""
        until = time.monotonic() + ONE_ENDS_WITHIN
        ended: dict[str, str] = {}
        while missing := set(self.accepted.values()) - ended.keys():
            assert time.monotonic() < until, f"{len(missing)} have not ended: {min(missing)}"
            for batch in missing:
                status = self._status(batch)
                if status in {"DONE", "REJECTED"}:
                    ended[batch] = status
                    until = time.monotonic() + ONE_ENDS_WITHIN
            time.sleep(0.5)  # who proves them needs the processors
        return set(ended.values())

    def _status(self, batch: str) -> str:
        params = {"batchQueryId": batch, "details": "0"}
        place = f"{self.address}/batch-query-status"
        told = requests.get(place, params=params, headers={"api-key": self.key}, timeout=30)
        return str(told.json()["queryStatus"])

    def go_on(self, first: int) -> None:
        number = first
        while not self._stopped.is_set():
            self.submit(number)
            number += PROGRAMS
            self._stopped.wait(PAUSE)

    def stop(self) -> None:
        self._stopped.set()


@contextmanager
def visitors(address: str, key: str, node: LocalNode, blocks: int) -> Iterator[Visitors]:
    """They come until the block ends; then each has been answered."""
    # Of its newest blocks the local node proves the state that comes after them.
    newest = int(node.rpc.ask("eth_blockNumber"), 16) - 5
    assert newest > blocks
    them = Visitors(address, key, newest, blocks)
    programs = [threading.Thread(target=them.go_on, args=(each,)) for each in range(PROGRAMS)]
    for each in programs:
        each.start()
    try:
        yield them
    finally:
        them.stop()
        for each in programs:
            each.join(60)
