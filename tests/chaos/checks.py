"""Problems after a run, a sentence each, found by HTTP and JSON-RPC, not by the service's code."""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from itertools import product
from typing import Any

import requests
from eth_utils.crypto import keccak

from tests.chaos import installation as setup
from tests.chaos.installation import ACCOUNT_FIELDS, HEADER_FIELDS, Clients, Fact, Installation
from tests.scenarios.chain import Chain
from tests.scenarios.service import SIGNER

ACCOUNT_KEYS = ("nonce", "balance", "storageHash", "codeHash")  # of ACCOUNT_FIELDS, in JSON-RPC
HEADER_KEYS = ("parentHash", "stateRoot", "number", "timestamp")  # of HEADER_FIELDS
HEADER_POSITIONS = (0, 3, 8, 11)
EMPTY = {"STORAGE_ROOT": keccak(b"\x80"), "CODE_HASH": keccak(b"")}  # where anvil answers zero


class Checks:
    """`facts` are those of DONE batches."""

    def __init__(self, installation: Installation, clients: Clients) -> None:
        self._installation, self._clients = installation, clients
        self._service, self._chains = installation.service, installation.chains
        self._statuses: dict[str, dict[str, Any]] = {}
        self.facts: set[Fact] = set()

    @property
    def ended(self) -> set[str]:
        """The batches whose last known status is an end."""
        return {batch for batch, status in self._statuses.items() if status["ended"]}

    def is_at_rest(self) -> bool:
        """True when every batch has ended, every webhook came and every transaction is final."""
        try:
            is_answered = self._clients.submit_unanswered()
            self._ask_statuses(known=self.ended)
            has_ended = is_answered and len(self.ended) == len(self._statuses)
            return has_ended and not self._open_transactions() and not any(self._of_webhooks())
        except requests.RequestException:  # the server was killed and starts again
            return False

    def _ask_statuses(self, known: Collection[str] = ()) -> None:
        for each in self._clients.batches:
            if each.id and each.id not in known:
                parameters = {"batchQueryId": each.id, "details": 0}
                self._statuses[each.id] = self._get("/batch-query-status", each.owner, **parameters)

    def _get(self, path: str, owner: int = 0, **parameters: Any) -> Any:
        answer = self._service.get(path, key=self._service.keys[owner], **parameters)
        answer.raise_for_status()
        return answer.text if path == "/metrics" else answer.json()

    def _open_transactions(self) -> int:
        """How many transactions the service itself does not consider final."""
        lines = self._get("/metrics").splitlines()
        counts = [each for each in lines if each.startswith("tacitus_transactions{")]
        return sum(int(float(each.rpartition(" ")[2])) for each in counts)

    def problems(self) -> Iterator[str]:
        """Run every check. This ends all programs."""
        self._ask_statuses()
        yield from self._of_batches()
        yield from self._of_facts()
        if count := self._open_transactions():
            yield f"{count} transactions are not final"
        for chain in self._chains.values():
            yield from self._of_transactions(chain)
        yield from self._of_webhooks()
        yield from self._of_programs()

    def _of_batches(self) -> Iterator[str]:
        """Each batch is DONE, and its owner's list has it once."""
        listed: Counter[str] = Counter()
        for owner in range(len(self._service.keys)):
            page: dict[str, Any] = {"cursor": ""}
            while page["cursor"] is not None:
                more = {"cursor": page["cursor"]} if page["cursor"] else {}
                page = self._get("/batch-queries", owner, **more)
                listed.update(each["internalId"] for each in page["batches"])
        listed.subtract(self._statuses.keys())
        if wrong := {batch: count for batch, count in listed.items() if count}:
            yield f"batches are listed too often (1) or not at all (-1): {wrong}"
        for each in self._clients.batches:
            status = self._statuses.get(each.id, {"queryStatus": each.refused or "not answered"})
            if status["queryStatus"] == "DONE":
                self.facts |= each.facts
            else:
                yield f"{each.id or each.body} is not DONE: {status}"

    def _of_facts(self) -> Iterator[str]:
        """The registry has each fact of a DONE batch, and it is as the node proves it."""
        for fact in sorted(self.facts):
            true, proven = self._true_and_proven(fact)
            if proven is None:
                yield f"{fact} of a DONE batch is not in the registry"
            elif proven != true:
                yield f"{fact} is {true:#x}, and the registry has {proven:#x}"

    def _true_and_proven(self, fact: Fact) -> tuple[int, int | None]:
        """Return what the node answers, and what the registry has."""
        chain, block = self._chains[fact.source], hex(fact.block)
        call: tuple[Any, ...]
        if not fact.account:
            field = HEADER_FIELDS.index(fact.name)
            true = chain.header(fact.block)[HEADER_KEYS[field]]
            call = "tryHeaderField(uint256,uint8)", fact.block, HEADER_POSITIONS[field]
        elif fact.name in ACCOUNT_FIELDS:
            field = ACCOUNT_FIELDS.index(fact.name)
            true = chain.rpc("eth_getProof", fact.account, [], block)[ACCOUNT_KEYS[field]]
            call = "tryAccountField(address,uint256,uint8)", fact.account, fact.block, field
        else:
            slot = int(fact.name, 16).to_bytes(32)
            proof = chain.rpc("eth_getProof", fact.account, [f"0x{slot.hex()}"], block)
            true = proof["storageProof"][0]["value"]
            signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
            call = signature, fact.account, fact.block, slot
        answer = self._service.read(*call, route=(fact.source, fact.destination))
        value = int(true, 16) or int.from_bytes(EMPTY.get(fact.name, b""))
        return value, int.from_bytes(answer[32:]) if answer[31] else None

    def _of_transactions(self, chain: Chain) -> Iterator[str]:
        """No nonce is skipped, and batches pay no more than their fees and the receipts' cost."""
        sent = chain.transactions_of(SIGNER)
        for state, senders in chain.rpc("txpool_content").items():
            for sender, nonces in senders.items():
                if sender.lower() == SIGNER.lower():
                    yield f"nonces on {chain.id} are {state} after {len(sent)}: {list(nonces)}"
        cost = sum(chain.cost(each["hash"]) for each in sent)
        ours = [it for it in self._statuses.values() if it["destinationChainId"] == str(chain.id)]
        if (spent := sum(int(each["spent"]) for each in ours)) > cost:
            yield f"batches have spent {spent} wei on {chain.id}, and the receipts cost {cost}"
        for each in ours:
            if chain.id != setup.A and int(each["spent"]) > int(each["fee"]):
                yield f"{each['internalId']} has spent {each['spent']} of a fee of {each['fee']}"
        yield from self._of_repetitions(chain, sent)

    def _of_repetitions(self, chain: Chain, sent: list[dict[str, Any]]) -> Iterator[str]:
        """A transaction that proves a fact again reads its slot and does not change it.

        It is right to if a reorg dropped it, or the transaction that proved the fact before.
        """
        routes = self._service.registries.items()
        sources = {each.lower(): route[0] for route, each in routes if route[1] == chain.id}
        written: dict[tuple[str, str], int] = {}  # (registry, slot) -> nonce
        for transaction in sent:
            receipt = chain.receipt(transaction["hash"])
            registry, nonce = transaction["to"], int(transaction["nonce"], 16)
            if registry not in sources or receipt["status"] != "0x1":
                continue
            read = _slots(chain, transaction["hash"], registry, only_changed=False)
            changed = _slots(chain, transaction["hash"], registry, only_changed=True).keys()
            kept = {slot for slot, word in read.items() if int(word, 16)} - changed
            repeated = kept - _slots_of_anchors(self._chains[sources[registry]].head)
            if repeated or not receipt["logs"]:
                nonces = {written.get((registry, slot), nonce) for slot in repeated or kept}
                if not {(chain.id, each) for each in nonces | {nonce}} & self._installation.undone:
                    what = f"{len(repeated)} facts" if receipt["logs"] else "only known facts"
                    yield f"nonce {nonce} on {chain.id} proves {what} again"
            written |= {(registry, slot): nonce for slot in changed}

    def _of_webhooks(self) -> Iterator[str]:
        """Each batch that asked for a webhook has one with its status; no other batch has one."""
        contents = map(json.loads, list(self._installation.receiver.accepted))
        events = {(each["batchQueryId"], each["event"], each["queryStatus"]) for each in contents}
        came = Counter((batch, status) for batch, _, status in events)
        asked = (each.id for each in self._clients.batches if each.id and "webhook" in each.body)
        came.subtract((batch, self._statuses[batch]["queryStatus"]) for batch in asked)
        for (batch, status), count in came.items():
            if count:
                yield f"{batch}, {status}: a webhook is {'missing' if count < 0 else 'wrong'}"

    def _of_programs(self) -> Iterator[str]:
        """Each program still runs, and ends well."""
        for name, program in self._installation.programs.items():
            try:
                assert program.runs
                program.stop()
            except AssertionError:
                yield f"{name} ended by itself or with an error: {program.log[-500:]}"


@cache
def _slots_of_anchors(head: int) -> frozenset[str]:
    """Return a registry's slots for the blocks and signers it knows, which every proof reads."""
    hashed = product(
        (*range(head + 1), int(setup.ATTESTER, 16)), range(3, 8)
    )  # keys of its mappings
    slots = [keccak(key.to_bytes(32) + slot.to_bytes(32)) for key, slot in hashed]
    return frozenset(f"0x{each.hex()}" for each in (*slots, *(it.to_bytes(32) for it in range(9))))


def _slots(chain: Chain, hash_: str, registry: str, *, only_changed: bool) -> dict[str, str]:
    """Return the registry's slots that a transaction read or changed, with values."""
    options = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": only_changed}}
    trace = chain.rpc("debug_traceTransaction", hash_, options)
    account = (trace["post"] if only_changed else trace).get(registry, {})
    storage: dict[str, str] = account.get("storage", {})
    return storage
