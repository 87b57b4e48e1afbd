"""Where a transaction's execution gas goes, from the steps that the node recorded of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from queries.chain.local_node import LocalNode

_SLOT_SET = 20_000  # a slot that was zero and is already warm
_COLD_READ = 2_100

_STORED, _READ, _EVENT, _CALL, _HASH, _REST = "stored", "read", "event", "call", "hash", "rest"
_NAMES = {
    _STORED: ("slot stored", "slots stored"),
    _READ: ("slot read", "slots read"),
    _EVENT: ("event", "events"),
    _CALL: ("call of a system contract", "calls of system contracts"),
    _HASH: ("hash", "hashes"),
}


@dataclass(frozen=True, slots=True)
class Parts:
    """How many steps of each kind there are, and their gas."""

    count: Counter[str]
    gas: Counter[str]

    def __add__(self, other: "Parts") -> "Parts":
        return Parts(self.count + other.count, self.gas + other.gas)

    def named(self) -> dict[str, int]:
        """Gas by what it paid for, such as "2 slots stored", with the rest at the end."""
        told = {
            _counted(self.count[kind], name): self.gas[kind]
            for kind, name in _NAMES.items()
            if self.gas[kind]
        }
        return {**told, "the rest": self.gas[_REST]} if self.gas else {}


NO_PARTS = Parts(Counter(), Counter())


def execution_gas(node: LocalNode, transaction: str) -> int:
    """Gas of the call itself, without the intrinsic gas and whatever the floor adds."""
    return int(node.rpc.ask("trace_transaction", transaction)[0]["result"]["gasUsed"], 16)


def execution_parts(node: LocalNode, transaction: str) -> Parts:
    """Gas of a transaction's dearest kinds of steps, and of the rest; together its execution."""
    wanted = {"disableMemory": True, "disableStack": True, "disableStorage": True}
    steps = node.rpc.ask("debug_traceTransaction", transaction, wanted)["structLogs"]
    own = [step for step in steps if step["depth"] == 1]
    return _parts(own, execution_gas(node, transaction))


def _parts(steps: Sequence[dict[str, Any]], total: int) -> Parts:
    """What a step costs is what it left less of, with everything called by it.

    The registry reads each slot before it stores it, so the price of a new slot is in two steps:
    2,100 for the first touch and 20,000 for setting it.
    """
    gas: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for step, following in pairwise(steps):
        cost = step["gas"] - following["gas"]
        kind = _kind(step["op"], cost)
        gas[kind] += cost
        count[kind] += 1
    touched = min(count[_STORED], count[_READ])
    gas[_STORED] += touched * _COLD_READ
    gas[_READ] -= touched * _COLD_READ
    count[_READ] -= touched
    gas[_REST] = total - sum(gas[kind] for kind in _NAMES)
    return Parts(count, gas)


def _kind(operation: str, cost: int) -> str:
    if operation == "SSTORE" and cost >= _SLOT_SET:
        return _STORED
    if operation == "SLOAD" and cost == _COLD_READ:
        return _READ
    if operation.startswith("LOG"):
        return _EVENT
    if operation in {"STATICCALL", "CALL", "DELEGATECALL"}:
        return _CALL
    return _HASH if operation == "KECCAK256" else _REST


def _counted(number: int, names: tuple[str, str]) -> str:
    return f"{number:,} {names[number != 1]}"
