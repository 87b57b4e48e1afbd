"""Costs of proving, from measurements in `measured.json`, which tests repeat.

Gas is of recorded proofs of mainnet (`make gas`), JSON-RPC calls are of a local chain.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from queries.config.limits import Limits
from queries.config.registries import RegistryKind

MEASUREMENTS = json.loads((Path(__file__).parent / "measured.json").read_text())

MEASURED_ACCOUNTS = (1, 10, 100)  # accounts of a block that were measured together

WINDOW_CALLS = 20  # calls that measure a node's proof window


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """Gas of transactions, and bytes of their calldata."""

    gas: float
    bytes: float

    def __add__(self, other: Self) -> Self:
        return replace(self, gas=self.gas + other.gas, bytes=self.bytes + other.bytes)

    def __truediv__(self, count: int) -> Self:
        return replace(self, gas=self.gas / count, bytes=self.bytes / count)


def _measured_gas(name: str) -> MeasuredCost:
    return MeasuredCost(**MEASUREMENTS["gas"][name])


def block_cost(kind: RegistryKind) -> MeasuredCost:
    """The cost of a block without its accounts."""
    match kind:
        case RegistryKind.NATIVE:
            return _measured_gas("native-header")
        case RegistryKind.ATTESTED:
            return _measured_gas("attest") + _measured_gas("header")
        case RegistryKind.OPTIMISM:  # an upper bound: a recorded block needs no hop
            return _measured_gas("recordHash") + _measured_gas("hop")
        case RegistryKind.OUTPUT:
            return _measured_gas("recordOutput") + _measured_gas("hop")
        case RegistryKind.BEACON:
            return _measured_gas("update") + _measured_gas("hop")
        case RegistryKind.ARBITRUM:  # nothing is recorded; the registry asks the outbox
            return _measured_gas("outbox") + _measured_gas("hop")


def update_cost() -> MeasuredCost:
    """The cost of an update that names the next committee; three of 512 validators are absent."""
    return _measured_gas("update") + _measured_gas("next-committee")


def account_cost(kind: RegistryKind, together: int) -> MeasuredCost:
    """The cost per account, if this many of a block are proven together."""
    return _measured_gas(f"accounts-{together}") + block_cost(kind) / together


def calls_per_fact(together: int) -> float:
    """JSON-RPC calls per account to all chains, from the submission to DONE."""
    return float(MEASUREMENTS["calls"][f"accounts-{together}"])


def idle_calls(limits: Limits, seconds: int) -> float:
    """Calls to each node while nothing is proven; `tests/scenarios/test_calls.py` counts them."""
    checks = 5 / limits.check_interval + WINDOW_CALLS / limits.node_check_interval
    return seconds * (1 / limits.poll_interval + checks)
