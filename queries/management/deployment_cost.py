"""What deploying a registry costs, and the L1 data fee of calls on an OP-stack chain."""

from random import Random

from queries.chain.sender import Destination
from queries.config.measured_costs import Work
from queries.config.registries import FACTORY
from queries.planning.pricing import Need


def data_fee(destination: Destination, work: Work) -> int:
    """Wei for its bytes on the L1 of an OP-stack chain. Random ones, as few as hashes compress."""
    (fee,) = destination.data_fees([Random(0).randbytes(round(work.bytes))])  # noqa: S311
    return fee


def deployment_need(destination: Destination, sender: str, data: bytes) -> Need:
    """What deploying by this calldata of the factory takes, as a node tries it out."""
    (fee,) = destination.data_fees([data])
    return Need(destination.gas_needed(sender, FACTORY, data), fee)
