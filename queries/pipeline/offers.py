"""A transaction as it would be sent, and what is paid for it."""

from dataclasses import dataclass

from queries.chain.destination import Fees
from queries.pipeline.joining import Call
from queries.pipeline.shares import Shares

MOST_GAS = 2**24  # of a transaction (EIP-7825)


@dataclass(frozen=True, slots=True)
class Need:
    """What a call needs: gas, and on an OP-stack chain wei beside it for its L1."""

    gas: int
    data_fee: int = 0

    def most(self, fees: Fees) -> int:
        """Wei, at the dearest gas that would be paid; the L1's gas may get as much dearer."""
        return self.gas * fees.dearest + 2 * self.data_fee


@dataclass(frozen=True, slots=True)
class Offer:
    """A call, what it needs, what is paid for its gas, and who bears that."""

    call: Call
    need: Need
    fees: Fees
    shares: Shares

    @property
    def gas_limit(self) -> int:
        """Some more than estimated, because the state moves on until it is mined."""
        return min(self.need.gas + self.need.gas // 10, MOST_GAS)

    @property
    def most(self) -> int:
        """Wei."""
        return self.need.most(self.fees)
