"""Costs of proving, from measurements in `measured.json`, which tests repeat.

Gas is of recorded proofs of mainnet by Osaka's rules (`make gas`), JSON-RPC calls are of a local
chain. An entry with `with` was measured once with a rollup's real contracts: what they take more
than the stand-ins that the tests use.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from queries.config.limits import Limits
from queries.proving import OSAKA, GasRules

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


def _measured_gas(name: str, rules: GasRules) -> MeasuredCost:
    """The cost by other rules: of its bytes, or of its execution and new slots if that is more.

    `execution`: the gas without the calldata floor, if that decides by Osaka's rules.
    """
    measured = MEASUREMENTS["gas"][name]
    gas, size = measured["gas"], measured["bytes"]
    by_bytes = gas + (rules.floor_byte - OSAKA.floor_byte) * size
    new_slots_gas = (rules.new_slot - OSAKA.new_slot) * measured.get("new_slots", 0)
    return MeasuredCost(max(by_bytes, measured.get("execution", gas) + new_slots_gas), size)


def block_cost(work: tuple[str, ...], rules: GasRules = OSAKA) -> MeasuredCost:
    """The cost of a block without its accounts: the sum of these measurements."""
    return sum((_measured_gas(name, rules) for name in work), MeasuredCost(0, 0))


def measured_with(work: tuple[str, ...]) -> str:
    """What the gas of a block's facts was measured with: proofs, and a rollup's contracts."""
    contracts = [entry["with"] for name in work if "with" in (entry := MEASUREMENTS["gas"][name])]
    return " and ".join(["recorded proofs of Ethereum", *contracts])


def update_cost(rules: GasRules = OSAKA) -> MeasuredCost:
    """The cost of an update that names the next committee; three of 512 validators are absent."""
    return _measured_gas("update", rules) + _measured_gas("next-committee", rules)


def account_cost(work: tuple[str, ...], together: int, rules: GasRules = OSAKA) -> MeasuredCost:
    """The cost per account, if this many of a block are proven together. `work`: what the block
    takes, the `block_work` of the registry.
    """
    account = _measured_gas(f"accounts-{together}", rules)
    return account + block_cost(work, rules) / together


def calls_per_fact(together: int) -> float:
    """JSON-RPC calls per account to all chains, from the submission to DONE."""
    return float(MEASUREMENTS["calls"][f"accounts-{together}"])


def idle_calls(limits: Limits, seconds: int) -> float:
    """Calls to each node while nothing is proven; `tests/scenarios/test_calls.py` counts them."""
    checks = 5 / limits.check_interval + WINDOW_CALLS / limits.node_check_interval
    return seconds * (1 / limits.poll_interval + checks)
