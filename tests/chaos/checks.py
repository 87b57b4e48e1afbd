"""Checks of batches, facts, transactions, costs, webhooks and programs once all work has ended."""

import json
import sqlite3
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, NamedTuple

import psycopg
import requests
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests.chaos.clients import (
    ACCOUNT_FIELDS,
    HEADER_FIELDS,
    MAX_IDLE_SECONDS,
    Batch,
    Clients,
    Fact,
)
from tests.chaos.feeds import Feeds
from tests.chaos.installation import ACCOUNTS, SLOTS, A, Installation
from tests.rigs.anvil import Chain
from tests.rigs.service import SIGNER, wait_until

EVENTS = "AccountProven(address,uint256,uint8)", "SlotProven(address,uint256,bytes32,bytes32)"
PROVEN = {f"0x{keccak(text=event).hex()}" for event in EVENTS}


# Anvil answers 0 for absent accounts.
EMPTY = {"STORAGE_ROOT": keccak(b"\x80"), "CODE_HASH": keccak(b"")}


SHARES = """
    SELECT share.batch_id, sent.nonce, share.max_cost, share.paid
    FROM queries_share share JOIN queries_senttransaction sent ON sent.id = share.transaction_id
    WHERE sent.chain = {chain}
"""


class Share(NamedTuple):
    """What a batch has reserved and paid for a transaction, in wei."""

    batch: str
    nonce: int
    reserved: int
    paid: int


class Checks:
    """Checks yield a sentence per problem."""

    def __init__(self, installation: Installation, clients: Clients, feeds: Feeds) -> None:
        self._installation, self._clients, self._feeds = installation, clients, feeds
        self._service, self._chains = installation.service, installation.chains
        self._listed: list[dict[str, Any]] = []
        self.facts: dict[Fact, set[int | None]] = defaultdict(set)  # the API's answers

    @property
    def _batches(self) -> list[Batch]:
        """Of the clients and the feeds."""
        return self._clients.batches + self._feeds.batches

    def await_rest(self) -> None:
        """Wait until all work has ended, or nothing has ended for `MAX_IDLE_SECONDS`."""
        lowest, progress = self._count_open(), time.monotonic()
        while any(counts := self._count_open()) and time.monotonic() < progress + MAX_IDLE_SECONDS:
            # Not their sum: while batches end, transactions for others begin.
            if any(count < low for count, low in zip(counts, lowest, strict=True)):
                lowest, progress = tuple(map(min, counts, lowest)), time.monotonic()
            time.sleep(1)
        self._count_open()  # list batches with what they have spent at last

    def _count_open(self) -> tuple[int, ...]:
        """The numbers of batches, webhooks, transactions and deliveries that have not ended."""
        self._listed = [batch for key in self._service.keys for batch in self._list_batches(key)]
        batches = sum(not batch["ended"] for batch in self._listed)
        webhooks = sum(count < 0 for count in self._count_webhooks().values())
        return batches, webhooks, self._open_transactions(), self._feeds.count_open()

    def _list_batches(self, key: str) -> Iterator[dict[str, Any]]:
        cursor, is_last = None, False
        while not is_last:
            page = self._get("/batch-queries", key, cursor=cursor).json()
            yield from page["batches"]
            cursor = page["cursor"]
            is_last = cursor is None

    def _get(self, path: str, key: str | None = None, **parameters: Any) -> requests.Response:
        """Repeat the request until the server has started and is not too busy."""

        def get_once() -> list[requests.Response]:
            with suppress(requests.RequestException):
                answer = self._service.get(path, key=key, **parameters)
                return [answer] if answer.ok else []
            return []

        return wait_until(get_once, what=path)[0]

    def problems(self) -> Iterator[str]:
        """Run all checks except that of programs."""
        yield from self._check_batches()
        yield from self._check_webhooks()
        yield from self._check_facts()
        if count := self._open_transactions():
            yield f"{count} transactions are not final"
        for chain in self._chains.values():
            sent = chain.transactions_of(SIGNER)
            for state, senders in chain.rpc("txpool_content").items():
                if waiting := senders.get(SIGNER.lower()):
                    yield f"nonces on {chain.id} are {state} after {len(sent)}: {list(waiting)}"
            yield from self._check_costs(chain, sent)
            yield from self._check_repetitions(chain, sent)
        yield from self._feeds.problems()

    def _check_batches(self) -> Iterator[str]:
        """All batches are DONE, and listed once."""
        listed = Counter(batch["internalId"] for batch in self._listed)
        listed.subtract(batch.id for batch in self._batches if batch.id)
        if wrong := {batch: count for batch, count in listed.items() if count}:
            yield f"batches are listed too often (1) or not at all (-1): {wrong}"
        for batch in self._batches:
            if not batch.id:
                yield f"a batch was not taken ({batch.refused or 'no answer'}): {batch.body}"
        for status in self._listed:
            if status["queryStatus"] != "DONE":
                why = status["waitsFor"] or status.get("rejection")
                yield f"{status['internalId']} is {status['status']}, not DONE: {why}"

    def _count_webhooks(self) -> Counter[tuple[str, str]]:
        """(batch, status) → distinct webhooks received, minus the expected ones."""
        contents = [json.loads(body) for body in list(self._installation.receiver.accepted)]
        events = {
            (event["event"], event["batchQueryId"], event["queryStatus"]) for event in contents
        }
        webhooks = Counter((batch, status) for _, batch, status in events)
        with_webhook = {batch.id for batch in self._batches if "webhook" in batch.body}
        webhooks.subtract(
            (batch["internalId"], batch["queryStatus"])
            for batch in self._listed
            if batch["ended"] and batch["internalId"] in with_webhook
        )
        return webhooks

    def _check_webhooks(self) -> Iterator[str]:
        """Batches with a webhook have got one with their status, and no others."""
        for (batch, status), count in self._count_webhooks().items():
            if count:
                yield f"{batch}, {status}: a webhook is {'missing' if count < 0 else 'wrong'}"

    def _check_facts(self) -> Iterator[str]:
        """Registry and API have the facts of DONE batches as the chain's own node has them."""
        done = {batch["internalId"] for batch in self._listed if batch["queryStatus"] == "DONE"}
        for batch in self._batches:
            if batch.id in done:
                answered = self._answered_facts(batch.id)
                for fact in batch.facts:
                    self.facts[fact].add(answered.get(fact))
        for fact, answers in sorted(self.facts.items()):
            true, proven = self._true_and_proven(fact)
            if proven is None:
                yield f"{fact} of a DONE batch is not in the registry"
            elif proven != true:
                yield f"{fact} is {true}, and the registry has {proven}"
            for wrong in answers - {true}:
                yield f"{fact} is {true}, and the API answers {wrong}"

    def _answered_facts(self, batch: str) -> dict[Fact, int]:
        status = self._get("/batch-query-status", batchQueryId=batch).json()
        destination = int(status["destinationChainId"])
        facts = {}
        for query in status["queries"]:
            source, block = int(query["originChainId"]), int(query["block"])
            for name, word in (query["values"] or {}).items():
                fact = Fact(source, destination, block, query["account"] or "", name)
                facts[fact] = int(word, 16)
        return facts

    def _true_and_proven(self, fact: Fact) -> tuple[int, int | None]:
        """The values of the chain's own node and of the registry."""
        chain, block = self._chains[fact.source], fact.block
        call: tuple[Any, ...]
        if not fact.account:
            key, field = HEADER_FIELDS[fact.name]
            true = chain.header(block)[key]
            call = "tryHeaderField(uint256,uint8)", block, field
        elif fact.name in SLOTS:
            proof = chain.rpc("eth_getProof", fact.account, [fact.name], hex(block))
            true = proof["storageProof"][0]["value"]
            signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
            call = signature, fact.account, block, bytes.fromhex(fact.name[2:])
        else:
            key, field = ACCOUNT_FIELDS[fact.name]
            true = chain.rpc("eth_getProof", fact.account, [], hex(block))[key]
            call = "tryAccountField(address,uint256,uint8)", fact.account, block, field
        answer = self._service.read(*call, route=(fact.source, fact.destination))
        proven = int.from_bytes(answer[32:]) if answer[31] else None
        return int(true, 16) or int.from_bytes(EMPTY.get(fact.name, b"")), proven

    def _open_transactions(self) -> int:
        """The number of transactions that the service does not consider final."""
        lines = self._get("/metrics").text.splitlines()
        counts = [line for line in lines if line.startswith("tacitus_transactions{")]
        return sum(int(float(count.rpartition(" ")[2])) for count in counts)

    def _check_costs(self, chain: Chain, sent: list[dict[str, Any]]) -> Iterator[str]:
        """To the wei, batches have paid what transactions cost, in proportion to their shares.

        The operator pays for empty transfers without shares, which fill gaps of nonces. The shares
        are read from the database, because no endpoint lists them all.
        """
        shares: dict[int, list[Share]] = defaultdict(list)  # by nonce
        paid = Counter[str]()
        for share in self._read_shares(chain.id):
            shares[share.nonce].append(share)
            paid[share.batch] += share.paid
        for transaction in sent:
            nonce, cost = int(transaction["nonce"], 16), chain.cost(transaction["hash"])
            reserved = sum(share.reserved for share in shares[nonce])
            if not reserved and transaction["input"] != "0x":
                yield f"no batch has paid for nonce {nonce} on {chain.id}"
            for share in shares[nonce]:
                if abs(share.paid * reserved - cost * share.reserved) >= reserved:
                    due = cost * share.reserved // reserved
                    yield f"{share.batch} paid {share.paid} for nonce {nonce}, its part is {due}"
            if reserved and sum(share.paid for share in shares[nonce]) != cost:
                yield f"batches paid for nonce {nonce} on {chain.id} not {cost}: {shares[nonce]}"
        yield from self._check_spent(chain, paid)

    def _check_spent(self, chain: Chain, paid: Mapping[str, int]) -> Iterator[str]:
        """The API's `spent` is the sum of a batch's shares, and at most its fee."""
        for batch in self._listed:
            if batch["destinationChainId"] != str(chain.id):
                continue
            batch_id, spent = batch["internalId"], int(batch["spent"])
            if spent != paid[batch_id]:
                yield f"{batch_id} has spent {spent}, its shares are {paid[batch_id]}"
            if chain.id != A and spent > int(batch["fee"]):
                yield f"{batch_id} has paid {spent}, its fee is {batch['fee']}"

    def _read_shares(self, chain: int) -> list[Share]:
        database, query = self._service.database, SHARES.format(chain=chain)
        if self._installation.options.database == "postgres":
            with psycopg.connect(database) as connection:
                rows = connection.execute(query).fetchall()
        else:
            with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as sqlite:
                rows = sqlite.execute(query).fetchall()
        return [
            Share(batch, nonce, int(reserved, 16), int(paid or "0", 16))
            for batch, nonce, reserved, paid in rows
        ]

    def _check_repetitions(self, chain: Chain, sent: list[dict[str, Any]]) -> Iterator[str]:
        """Every transaction proves something new of every account that it contains.

        After a reorg a transaction may find nothing to do when it is mined again. If a node lied
        about gas, a proof is split, and both halves contain the account.
        """
        registries = [registry.lower() for registry in self._service.registries.values()]
        for transaction in sent:
            receipt, nonce = chain.receipt(transaction["hash"]), int(transaction["nonce"], 16)
            has_failed = receipt["status"] != "0x1"
            was_reorganised = (chain.id, nonce) in self._installation.reorganised
            if transaction["to"] not in registries or has_failed or was_reorganised:
                continue
            contained = {
                account for account in ACCOUNTS if account[2:].lower() in transaction["input"]
            }
            events = [log["topics"] for log in receipt["logs"]]
            proven = {to_checksum_address(at[1][-40:]) for at in events if at[0] in PROVEN}
            if contained - proven or not events:
                yield f"nonce {nonce} on {chain.id} proves nothing new: {transaction['hash']}"

    def check_programs(self) -> Iterator[str]:
        """Stop all programs; each must still run and exit with 0."""
        for name, program in self._installation.programs.items():
            try:
                assert program.runs
                program.stop()
            except (AssertionError, subprocess.TimeoutExpired):
                yield f"{name} had ended, or ended with an error: {program.log[-500:]}"
                program.kill()
