"""Reads the chains, the database and the pages of a service at rest, and says what is not right.

Its code is its own: it uses nothing of what it checks.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.chaos.asked import Asked
from tests.chaos.clients_checks import ENDED, of_keys, of_webhooks
from tests.chaos.evidence import (
    ACCOUNT_FIELDS,
    ACCOUNT_PROVEN,
    ATTEST,
    HASH_ATTESTED,
    HEADER_ACCUMULATED,
    HEADER_FIELD_PROVEN,
    HEADER_FIELDS,
    TIMESTAMP_PROVEN,
    Fact,
    Scene,
    as_json,
    slot_name,
)
from tests.chaos.page_checks import of_sample
from tests.chaos.violations import Violation
from tests.chaos.webhook_receiver import Told


@dataclass
class Checker:
    """One look. `causes`: the codes of rejections that the faults of the run may bring about;
    `may_revert`: how many of those faults a reverted transaction may be due to.
    """

    scene: Scene
    asked: Sequence[Asked]
    told: Sequence[Told] = ()  # by webhooks
    causes: frozenset[str] = field(default_factory=frozenset)
    may_revert: int = 0

    def violations(self) -> list[Violation]:
        return [
            *self.of_outcomes(),
            *self.of_facts(),
            *self.of_events(),
            *self.of_transactions(),
            *self.of_reverted(),
            *self.of_costs(),
            *self.of_pages(),
            *of_webhooks(self.scene, self.asked, self.batches, self.told),
            *of_keys(self.asked, self.batches),
        ]

    # What came of the batches

    @cached_property
    def batches(self) -> Mapping[str, dict[str, Any]]:
        return {row["id"]: row for row in self.scene.rows("batch")}

    @cached_property
    def done(self) -> list[Asked]:
        return [each for each in self.asked if self._status(each) == "DONE"]

    def _status(self, it: Asked) -> str:
        return str(self.batches.get(it.id, {}).get("status", ""))

    def of_outcomes(self) -> Iterator[Violation]:
        for it in self.asked:
            if not it.is_answered:
                yield Violation("no answer", f"batch {it.key} was never accepted nor refused")
            elif it.must_be == "refused" and it.id:
                yield Violation("false outcome", f"{it.id} was accepted: {it.content}")
            elif it.must_be != "refused" and it.refusal:
                yield Violation("false cause", f"batch {it.key} was refused: {it.refusal}")
            elif it.id:
                yield from self._of_outcome(it)
        for unknown in set(self.batches) - {each.id for each in self.asked}:
            yield Violation("unknown batch", f"nobody asked for {unknown}")

    def _of_outcome(self, it: Asked) -> Iterator[Violation]:
        row = self.batches.get(it.id)
        if row is None:
            yield Violation("lost batch", f"{it.id} was accepted, and there is none")
        elif row["status"] not in ENDED:
            yield Violation("not ended", f"{it.id} is {row['status']}: {row['waits_for']}")
        elif row["status"] == "DONE" and it.must_be != "DONE":
            yield Violation("false outcome", f"{it.id} is DONE, and cannot be: {it.must_be}")
        elif row["status"] == "REJECTED" and row["error_code"] not in {it.must_be, *self.causes}:
            what = f"{it.id} ({it.kind}) is REJECTED for {row['error_code']}: "
            yield Violation("false cause", what + row["error_sentence"])

    # What is on chain

    def of_facts(self) -> Iterator[Violation]:
        asked = sorted({fact for it in self.done for fact in self.facts_of(it)})
        facts = sorted({*asked, *self._told_by_events()})
        true, kept = self.scene.true_words(facts), self.scene.kept_words(facts)
        for fact in facts:
            if kept[fact] is None:
                if fact in asked:
                    yield Violation("missing fact", f"{fact} of a batch that is DONE")
            elif kept[fact] != true[fact]:
                yield Violation("wrong fact", f"{fact} is {true[fact]}, and kept as {kept[fact]}")
        for (source, destination), number, told in self._hashes():
            block = self.scene.nodes[source].ask("eth_getBlockByNumber", hex(number), False)  # noqa: FBT003
            if block is None or block["hash"] != told:
                what = f"block {number} of {source} on {destination} is kept as {told}"
                yield Violation("wrong fact", what)

    def facts_of(self, it: Asked) -> Iterator[Fact]:
        destination = int(it.content["destinationChainId"])
        for chain, entries in it.content["data"].items():
            for selector, entry in entries.items():
                kind, number = selector.split(":")
                source = int(chain)
                block = self._at(source, int(number)) if kind == "timestamp" else int(number)
                for name in entry.get("header", ()):
                    yield Fact(source, destination, block, "", name)
                for account, wanted in entry.get("accounts", {}).items():
                    slots = map(slot_name, wanted.get("slots", ()))
                    for name in (*wanted.get("props", ()), *slots):
                        yield Fact(source, destination, block, account.lower(), name)

    def _at(self, source: int, seconds: int) -> int:
        return self.scene.nodes[source].block_at(seconds)

    @cached_property
    def logs(self) -> Mapping[tuple[int, int], list[dict[str, Any]]]:
        return {
            route: self.scene.nodes[route[1]].logs(address)
            for route, address in self.scene.registries.items()
        }

    def _told_by_events(self) -> Iterator[Fact]:
        """All that could be read, of whatever the registries say that something was proven."""
        names = {place: name for name, (_, place) in HEADER_FIELDS.items()}
        slots = {fact.name for it in self.asked for fact in _slots_of(it)}
        for (source, destination), logs in self.logs.items():
            for log in logs:
                kind, *topics = log["topics"]
                if kind == ACCOUNT_PROVEN:
                    account, block = f"0x{topics[0][-40:]}", int(topics[1], 16)
                    for name in (*ACCOUNT_FIELDS, *slots):
                        yield Fact(source, destination, block, account, name)
                elif kind == HEADER_FIELD_PROVEN and int(topics[1], 16) in names:
                    name = names[int(topics[1], 16)]
                    yield Fact(source, destination, int(topics[0], 16), "", name)

    def _hashes(self) -> Iterator[tuple[tuple[int, int], int, str]]:
        """Of blocks: of headers that were accumulated, and those that signers spoke for."""
        for route, logs in self.logs.items():
            for log in logs:
                if log["topics"][0] in {HEADER_ACCUMULATED, HASH_ATTESTED}:
                    yield route, int(log["topics"][1], 16), log["data"]

    def of_events(self) -> Iterator[Violation]:
        for (source, destination), logs in self.logs.items():
            once = Counter(
                tuple(log["topics"]) for log in logs if log["topics"][0] != ACCOUNT_PROVEN
            )
            for topics, times in once.items():
                if times > 1:
                    what = f"{times} times on {destination} of {source}: {topics}"
                    yield Violation("paid twice", what)
            for log in logs:
                kind, *topics = log["topics"]
                if kind == TIMESTAMP_PROVEN:
                    seconds, block = (int(each, 16) for each in topics)
                    if self._at(source, seconds) != block:
                        yield Violation("wrong fact", f"block {block} of {source} at {seconds}")

    # What was sent and paid

    @cached_property
    def sent(self) -> list[dict[str, Any]]:
        return self.scene.rows("senttransaction")

    def of_transactions(self) -> Iterator[Violation]:
        for chain, node in self.scene.nodes.items():
            rows = {row["nonce"]: row for row in self.sent if row["chain"] == chain}
            count = int(node.ask("eth_getTransactionCount", self.scene.signer, "latest"), 16)
            pending = int(node.ask("eth_getTransactionCount", self.scene.signer, "pending"), 16)
            if pending != count:
                yield Violation("nonce gap", f"{pending - count} wait on {chain}")
            for nonce in sorted(set(range(count)) ^ set(rows)):
                where = "no row" if nonce < count else "never mined"
                yield Violation("nonce gap", f"nonce {nonce} on {chain}: {where}")
            mined = [row for nonce, row in sorted(rows.items()) if nonce < count]
            questions = [("eth_getTransactionReceipt", [row["mined_hash"]]) for row in mined]
            of_them = [("eth_getTransactionByHash", [row["mined_hash"]]) for row in mined]
            known = [bool(row["mined_hash"]) for row in mined]
            for row in (row for row, has in zip(mined, known, strict=True) if not has):
                yield Violation("untrue record", f"nonce {row['nonce']} on {chain} has no hash")
            if not all(known):
                continue
            receipts, transactions = node.ask_many(questions), node.ask_many(of_them)
            for row, receipt, transaction in zip(mined, receipts, transactions, strict=True):
                yield from self._of_transaction(row, receipt, transaction)

    def _of_transaction(
        self, row: dict[str, Any], receipt: dict[str, Any] | None, sent: dict[str, Any] | None
    ) -> Iterator[Violation]:
        named = f"nonce {row['nonce']} on {row['chain']}"
        if receipt is None or sent is None:
            yield Violation("untrue record", f"{named} was not mined as {row['mined_hash']}")
            return
        if int(sent["nonce"], 16) != row["nonce"] or sent["from"] != self.scene.signer.lower():
            yield Violation("untrue record", f"{named} is another transaction")
        told = (row["mined_block"], row["succeeded"], row["gas_used"], _number(row["gas_price"]))
        true = (
            int(receipt["blockNumber"], 16),
            receipt["status"] == "0x1",
            int(receipt["gasUsed"], 16),
            int(receipt["effectiveGasPrice"], 16),
        )
        if told != true:
            yield Violation("untrue record", f"{named} is {true}, and told as {told}")
        if not row["settled"]:
            yield Violation("not ended", f"{named} was mined, and is not settled")
        if receipt["status"] == "0x1" and sent["input"] != "0x":
            yield from self._of_proof(named, sent["input"], receipt["logs"])

    def _of_proof(
        self, named: str, calldata: str, logs: list[dict[str, Any]]
    ) -> Iterator[Violation]:
        """A transaction shows each account by its address, and the registry tells what was new.

        Two that bring a hash, by a call without anything or by signers' words, bring the same one
        where a reorganisation had both mined anew at once: neither nonce can be left out by then.
        """
        brings_hash = len(calldata) == len(ATTEST) or calldata.startswith(ATTEST)
        if not logs and not brings_hash:
            yield Violation("paid twice", f"{named} proved nothing that was new")
        told = Counter(log["topics"][1][-40:] for log in logs if log["topics"][0] == ACCOUNT_PROVEN)
        for account in {fact.account for it in self.asked for fact in self._accounts_of(it)}:
            shown = calldata.count(account[2:])
            if shown > told[account[2:]]:
                yield Violation("paid twice", f"{named} shows {account} again")

    def _accounts_of(self, it: Asked) -> Iterator[Fact]:
        for entries in it.content["data"].values():
            for entry in entries.values():
                for account in entry.get("accounts", ()):
                    if len(account) == 42:
                        yield Fact(0, 0, 0, account.lower(), "")

    def of_reverted(self) -> Iterator[Violation]:
        """By the chain's own word, not the database's. Each was paid for and proved nothing."""
        reverted = []
        for chain, node in self.scene.nodes.items():
            hashes = [row["mined_hash"] for row in self.sent if row["chain"] == chain]
            known = [each for each in hashes if each]
            receipts = node.ask_many([("eth_getTransactionReceipt", [each]) for each in known])
            reverted += [
                f"{its_hash} on {chain}"
                for its_hash, receipt in zip(known, receipts, strict=True)
                if receipt and receipt["status"] != "0x1"
            ]
        if len(reverted) > self.may_revert:
            what = f"{len(reverted)} transactions, where {self.may_revert} faults may be why: "
            yield Violation("reverted", what + ", ".join(reverted))

    def of_costs(self) -> Iterator[Violation]:
        """Batches have spent no more than their chain took for what we sent."""
        paid: dict[int, int] = defaultdict(int)
        for row in self.sent:
            if row["gas_used"]:
                paid[row["chain"]] += row["gas_used"] * _number(row["gas_price"])
        spent: dict[int, int] = defaultdict(int)
        for batch in self.batches.values():
            spent[batch["destination"]] += _number(batch["spent"])
        for chain, amount in spent.items():
            if amount > paid[chain]:
                what = f"{amount} wei on {chain}, where {paid[chain]} were paid"
                yield Violation("paid twice", f"batches have spent {what}")

    # What the explorer says

    def of_pages(self) -> Iterator[Violation]:
        for it in self.asked:
            if it.id in self.batches:
                yield from self._of_page(it, self._status(it))
        facts = {it.id: sorted(set(self.facts_of(it))) for it in self.done}
        yield from of_sample(self.scene, facts, self.sent)
        yield from self._of_counts()

    def _of_page(self, it: Asked, status: str) -> Iterator[Violation]:
        headers = {"api-key": self.scene.api_key}
        answer = self.scene.page(f"/batch-query-status?batchQueryId={it.id}", **headers)
        told = answer.json().get("status") if answer.ok else answer.status_code
        if told != status:
            yield Violation("explorer differs", f"the API says {told} of {it.id}, not {status}")
        page = self.scene.page(f"/explorer/query/{it.id}")
        if not page.ok or status not in page.text:
            yield Violation("explorer differs", f"the page of {it.id} does not say {status}")
        if status == "DONE":
            facts = sorted(set(self.facts_of(it)))
            kept = self.scene.kept_words(facts)
            shown = self._shown(it.id)
            for fact in facts:
                if shown.get((fact.block, fact.account, fact.name)) != kept[fact]:
                    what = f"{it.id} shows {fact} otherwise than the registry has it"
                    yield Violation("explorer differs", what)

    def _shown(self, batch: str) -> dict[tuple[int, str, str], int]:
        answer = self.scene.page(f"/explorer/query/{batch}/facts.json")
        if not answer.ok:
            return {}
        return {
            (int(row["block"]), row["account"].lower(), row["field_or_slot"]): int(row["word"], 16)
            for row in answer.json()
        }

    def _of_counts(self) -> Iterator[Violation]:
        """What pages say was proven on each route: each fact once."""
        jobs = {
            row["id"]: (row["source"], row["destination"]) for row in self.scene.rows("blockjob")
        }
        proven: dict[tuple[int, int], set[tuple[int, str, str]]] = defaultdict(set)
        for row in self.scene.rows("query"):
            for name in as_json(row["values"]) or ():
                proven[jobs[row["job_id"]]].add((row["job_id"], row["account"], name))
        told = {
            (row["source"], row["destination"]): row["facts"]
            for row in self.scene.rows("routerecord")
        }
        for route, facts in proven.items():
            if told.get(route, 0) != len(facts):
                what = f"{told.get(route, 0)} facts of {route} are counted, not {len(facts)}"
                yield Violation("explorer differs", what)


def _slots_of(it: Asked) -> Iterator[Fact]:
    for entries in it.content["data"].values():
        for entry in entries.values():
            for wanted in entry.get("accounts", {}).values():
                for slot in wanted.get("slots", ()):
                    yield Fact(0, 0, 0, "", slot_name(slot))


def _number(text: str) -> int:
    return int(text or "0", 16)
