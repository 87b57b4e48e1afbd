"""What proving costs, from figures that were measured; `measured.json` holds them.

The gas is that of recorded proofs of mainnet (`make gas`), the calls are those of a local chain.
Tests measure each of them again.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from queries.config.limits import Limits
from queries.config.registries import RegistryKind

MEASURED = json.loads((Path(__file__).parent / "measured.json").read_text())

TOGETHER = (1, 10, 100)  # accounts of one block that were measured

MEASURING = 20  # calls with which provers find out how far back a node proves


@dataclass(frozen=True, slots=True)
class Work:
    """Gas of transactions, and bytes of their calldata."""

    gas: float
    bytes: float

    def __add__(self, other: "Work") -> "Work":
        return Work(self.gas + other.gas, self.bytes + other.bytes)

    def shared(self, by: int) -> "Work":
        return Work(self.gas / by, self.bytes / by)


def _measured(name: str) -> Work:
    return Work(**MEASURED["gas"][name])


def of_a_block(kind: RegistryKind) -> Work:
    """What a block takes before accounts are proven, however many."""
    match kind:
        case RegistryKind.NATIVE:
            return _measured("native-header")
        case RegistryKind.ATTESTED:
            return _measured("attest") + _measured("header")
        case RegistryKind.OPTIMISM:  # at most: the block recorded may be the one that is asked for
            return _measured("recordHash") + _measured("hop")
        case RegistryKind.OUTPUT:
            return _measured("recordOutput") + _measured("hop")


def of_a_balance(kind: RegistryKind, together: int) -> Work:
    """One of so many accounts of a block."""
    return _measured(f"accounts-{together}") + of_a_block(kind).shared(together)


def calls_of_a_fact(together: int) -> float:
    """JSON-RPC calls, to all chains, from the submission to DONE."""
    return float(MEASURED["calls"][f"accounts-{together}"])


def idle_calls(limits: Limits, seconds: int) -> float:
    """Calls to each node while nothing is proven: `tests/scenarios/test_idle.py` counts them."""
    checks = 4 / limits.check_interval + MEASURING / limits.chain_id_age
    return seconds * (1 / limits.poll_interval + checks)
