"""What one look at a service at rest finds, each thing read once, for all that is checked of it.

As all checks it uses nothing of what it checks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.chaos.asked import Asked
from tests.chaos.evidence import Fact, Scene, slot_name

Row = Mapping[str, Any]


@dataclass
class Look:
    """At the chains by raw JSON-RPC, and at the database by raw SQL."""

    scene: Scene
    asked: Sequence[Asked]

    @cached_property
    def batches(self) -> Mapping[str, dict[str, Any]]:
        return {row["id"]: row for row in self.scene.rows("batch")}

    @cached_property
    def queries(self) -> Sequence[Row]:
        return self.scene.rows("query")

    @cached_property
    def done(self) -> list[Asked]:
        return [each for each in self.asked if self.status(each) == "DONE"]

    def status(self, it: Asked) -> str:
        return str(self.batches.get(it.id, {}).get("status", ""))

    @cached_property
    def sent(self) -> list[dict[str, Any]]:
        return self.scene.rows("senttransaction")

    @cached_property
    def receipts(self) -> Mapping[int, dict[str, Any] | None]:
        """By the key of a transaction's row, of those that are told to be mined."""
        found: dict[int, dict[str, Any] | None] = {}
        for chain, node in self.scene.nodes.items():
            rows = [row for row in self.sent if row["chain"] == chain and row["mined_hash"]]
            asked = [("eth_getTransactionReceipt", [row["mined_hash"]]) for row in rows]
            for row, receipt in zip(rows, node.ask_many(asked), strict=True):
                found[row["id"]] = receipt
        return found

    @cached_property
    def logs(self) -> Mapping[tuple[int, int], list[dict[str, Any]]]:
        """What each registry says that was proven, by its route."""
        return {
            route: self.scene.nodes[route[1]].logs(address)
            for route, address in self.scene.registries.items()
        }

    def facts_of(self, it: Asked) -> Iterator[Fact]:
        """All that a batch asks for."""
        destination = int(it.content["destinationChainId"])
        for chain, entries in it.content["data"].items():
            for selector, entry in entries.items():
                kind, number = selector.split(":")
                source = int(chain)
                block = self.block_at(source, int(number)) if kind == "timestamp" else int(number)
                for name in entry.get("header", ()):
                    yield Fact(source, destination, block, "", name)
                for account, wanted in entry.get("accounts", {}).items():
                    slots = map(slot_name, wanted.get("slots", ()))
                    for name in (*wanted.get("props", ()), *slots):
                        yield Fact(source, destination, block, account.lower(), name)

    def block_at(self, source: int, seconds: int) -> int:
        return self.scene.nodes[source].block_at(seconds)


def number(text: str) -> int:
    """As the database keeps one of 256 bits."""
    return int(text or "0", 16)
