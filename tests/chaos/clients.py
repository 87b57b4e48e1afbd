"""Clients that submit random batches."""

import random
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import requests

from tests.chaos.installation import ACCOUNTS, RECENT_BLOCKS, SLOTS, A, Installation
from tests.rigs.service import OWNERS, accounts, request

SUBMIT_EVERY = 0.6  # seconds, on average
FEE = 10**18  # wei, more than a lie about fees can cost
MAX_IDLE_SECONDS = 300  # without progress, after which a batch or a webhook is missing
# A field's name in the API → its name in JSON-RPC and its number in the registry.
ACCOUNT_FIELDS = {
    "NONCE": ("nonce", 0),
    "BALANCE": ("balance", 1),
    "STORAGE_ROOT": ("storageHash", 2),
    "CODE_HASH": ("codeHash", 3),
}
HEADER_FIELDS = {
    "PARENT_HASH": ("parentHash", 0),
    "STATE_ROOT": ("stateRoot", 3),
    "BLOCK_NUMBER": ("number", 8),
    "TIMESTAMP": ("timestamp", 11),
}


class Fact(NamedTuple):
    """A field or slot of an account or, without one, a field of the block's header."""

    source: int
    destination: int
    block: int
    account: str
    name: str


@dataclass
class Batch:
    owner: int  # the index of its API key
    body: dict[str, Any]
    facts: set[Fact]
    id: str = ""
    refused: str = ""  # with this error, for good


class Clients:
    """Submit random batches, and repeat unanswered ones."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._chance = random.Random(f"batches {installation.options.seed}")
        self.batches: list[Batch] = []

    def submit_batches(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._chance.expovariate(1 / SUBMIT_EVERY)):
            self.batches.append(self._new_batch())
            self._submit_unanswered()
        end = time.monotonic() + MAX_IDLE_SECONDS
        while not self._submit_unanswered() and time.monotonic() < end:
            time.sleep(1)

    def _submit_unanswered(self) -> bool:
        """Submit every unanswered batch; return whether all are answered."""
        service = self._installation.service
        for number, batch in enumerate(self.batches):
            if batch.id or batch.refused:
                continue
            key, header = service.keys[batch.owner], {"Idempotency_Key": f"chaos-{number}"}
            with suppress(requests.RequestException):  # no answer
                content = service.post("/submit-batch-query", batch.body, key=key, **header).json()
                batch.id = content.get("internalId", "")
                batch.refused = "" if batch.id or content["retryable"] else content["code"]
        return all(batch.id or batch.refused for batch in self.batches)

    def _new_batch(self) -> Batch:
        chance, service = self._chance, self._installation.service
        source, destination = chance.choice(list(service.registries))
        head = self._installation.chains[source].head  # not final yet, like the blocks before it
        blocks = chance.sample(range(head - RECENT_BLOCKS + 1, head + 1), chance.choice((1, 1, 3)))
        if chance.random() < 0.2:
            addresses, names = [""], self._sample(HEADER_FIELDS)
            entry: dict[str, Any] = {"header": names}
        else:
            addresses = chance.sample(ACCOUNTS, chance.randint(1, 3))
            props = self._sample(ACCOUNT_FIELDS)
            slots = self._sample(SLOTS) if ACCOUNTS[0] in addresses else []
            entry, names = accounts(*addresses, props=props, slots=slots), props + slots
        more = {}
        if chance.random() < 0.5:
            more["webhook"] = {"url": self._installation.receiver.url}
        fee = str(0 if destination == A else FEE)
        data = {source: dict.fromkeys(sorted(blocks), entry)}
        body = request(data, to=destination, fee=fee, **more)
        facts = {Fact(source, destination, *parts) for parts in product(blocks, addresses, names)}
        return Batch(chance.randrange(len(OWNERS)), body, facts)

    def _sample(self, names: Collection[str]) -> list[str]:
        return self._chance.sample(list(names), self._chance.randint(1, len(names)))
