"""What an update of a beacon registry costs on its destination, by the nodes' own estimate.

A sample update is estimated for a registry that exists in a state override alone, so nothing has to
be deployed. What it costs by Ethereum's rules is in `measured.json`.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from queries.amounts import short_amount
from queries.chain import (
    DRY_RUN_SENDER,
    ChainClient,
    ChainRefusalError,
    MethodMissingError,
    NodesRefuseError,
    ParametersRejectedError,
)
from queries.config.measured_costs import MeasuredCost, update_cost
from queries.planning.dry_runs import GasEstimate
from queries.proving import keccak256
from queries.sources import BeaconRegistry, registry_artifact

# The address of the registry in the override
TRIAL_REGISTRY = f"0x{keccak256(b'Tacitus asks what an update would cost')[-20:].hex()}"
# Errors of nodes that take no state override, or call no contract that is only being created
_ERRORS = (ChainRefusalError, MethodMissingError, NodesRefuseError, ParametersRejectedError)


@cache
def _sample() -> Mapping[str, Any]:
    """An update by 509 of 512 members of a generated committee, which names the next one, with the
    constructor arguments and the storage of a registry that takes it at any time.
    """
    path = Path(__file__).parents[1] / "config" / "sample_update.json"
    update: Mapping[str, Any] = json.loads(path.read_text())
    return update


def measure_update(destination: ChainClient) -> MeasuredCost | None:
    """The cost of an update that names the next committee; None if the nodes do not estimate it.

    Raises a `ChainError` if they do not answer.
    """
    sample = _sample()
    arguments, data = (bytes.fromhex(sample[key][2:]) for key in ("arguments", "update"))
    calls = [(TRIAL_REGISTRY, data)]
    try:
        code = destination.created_code(registry_artifact(BeaconRegistry.kind).bytecode + arguments)
        state = {"code": f"0x{code.hex()}", "stateDiff": sample["storage"]}
        override = {TRIAL_REGISTRY: state}
        (gas,) = destination.estimate_gas_for_calls(DRY_RUN_SENDER, calls, override)
        (plain_gas,) = destination.estimate_gas_for_calls(DRY_RUN_SENDER, calls)
    except _ERRORS:
        return None
    # A node that ignores the override estimates a call of an address without a contract.
    if isinstance(gas, Exception) or isinstance(plain_gas, Exception) or gas <= plain_gas:
        return None
    return MeasuredCost(gas, len(data))


def describe_keeping(registry: BeaconRegistry, destination: ChainClient) -> tuple[str, bool]:
    """What an update costs and a year of them, in sentences; and whether the nodes estimated it."""
    chain, ethereum = destination.chain, update_cost()
    measured = measure_update(destination)
    update = measured or ethereum
    year = yearly_cost(registry, update, destination)
    price = destination.gas_price_after_block(destination.latest_head().number)
    keeping = (
        f"Keeping the registry awake costs {year.gas:,} gas, "
        f"{short_amount(year.cost(price), chain.currency)} at the current price, a year."
    )
    if measured is None:
        sentence = (
            f"The nodes of {chain.name} do not estimate what an update costs: on Ethereum it is "
            f"{ethereum.gas:,.0f} gas. {keeping} This counts Ethereum's prices of the precompiles "
            f"(EIP-2537), and {chain.name} may have others."
        )
        return sentence, False
    update_sentence = f"An update costs {update.gas:,.0f} gas here (Ethereum: {ethereum.gas:,.0f})."
    return f"{update_sentence} {keeping}", True


def yearly_cost(
    registry: BeaconRegistry, update: MeasuredCost, destination: ChainClient
) -> GasEstimate:
    """The cost of the updates that keep the registry awake for a year."""
    count = registry.yearly_updates
    return GasEstimate(round(update.gas * count), data_fee(destination, update) * count)


def data_fee(destination: ChainClient, work: MeasuredCost) -> int:
    """Estimate the L1 data fee in wei. Random bytes compress as badly as proofs."""
    (fee,) = destination.data_fees([Random(0).randbytes(round(work.bytes))])  # noqa: S311
    return fee
