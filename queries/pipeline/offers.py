"""A transaction as it would be sent."""

from dataclasses import dataclass

from queries.chain.destination import Fees
from queries.pipeline.joining import Call
from queries.pipeline.shares import Shares

MOST_GAS = 2**24  # of a transaction (EIP-7825)


@dataclass(frozen=True, slots=True)
class Offer:
    """A call with the gas it needs, what is paid for it, and who bears that."""

    call: Call
    gas_needed: int
    fees: Fees
    shares: Shares

    @property
    def gas_limit(self) -> int:
        """Some more than estimated, because the state moves on until it is mined."""
        return min(self.gas_needed + self.gas_needed // 10, MOST_GAS)

    @property
    def most(self) -> int:
        """Wei, at the dearest gas that would be paid."""
        return self.gas_needed * self.fees.dearest
