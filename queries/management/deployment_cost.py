"""The gas of a registry's deployment, and the L1 data fee of calls on an OP-stack chain."""

from random import Random

from queries.chain.sender import Destination
from queries.config.measured_costs import MeasuredCost
from queries.config.registries import FACTORY
from queries.planning.pricing import GasEstimate


def data_fee(destination: Destination, work: MeasuredCost) -> int:
    """Estimate the L1 data fee in wei. Random bytes compress as badly as proofs."""
    (fee,) = destination.data_fees([Random(0).randbytes(round(work.bytes))])  # noqa: S311
    return fee


def estimate_deployment(destination: Destination, sender: str, data: bytes) -> GasEstimate:
    """Estimate, with a node, what a deployment with this calldata of the factory needs."""
    (fee,) = destination.data_fees([data])
    return GasEstimate(destination.estimate_gas(sender, FACTORY, data), fee)
