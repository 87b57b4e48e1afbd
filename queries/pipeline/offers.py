"""A transaction as it would be sent, and what is paid for it."""

from dataclasses import dataclass, replace

from queries.chain.destination import Fees
from queries.chain.one_transaction import MOST_GAS
from queries.pipeline.joining import Call
from queries.pipeline.shares import Shares

WHOLE = 1024  # the room in which fees may rise until it is mined: all that is asked for


@dataclass(frozen=True, slots=True)
class Need:
    """What a call needs: gas, and on an OP-stack chain wei beside it for its L1."""

    gas: int
    data_fee: int = 0

    def most(self, fees: Fees, room: int = WHOLE) -> int:
        """Wei, at the dearest gas that would be paid. The L1's gas may get as much dearer, and by
        an eighth where there is no room for more.
        """
        data_fee = self.data_fee + self.data_fee * (WHOLE + 7 * room) // (8 * WHOLE)
        return self.gas * fees.dearest + data_fee


@dataclass(frozen=True, slots=True)
class Offer:
    """A call, what it needs, what is paid for its gas, and who bears that."""

    call: Call
    need: Need
    fees: Fees
    shares: Shares
    room: int = WHOLE

    def with_room(self, room: int) -> "Offer":
        """The same with this much of the room that it has; with none it suits the next block."""
        enough, priority = self.fees.enough, self.fees.priority
        dearest = enough + (self.fees.dearest - enough) * room // WHOLE
        fees = Fees(dearest, min(priority, dearest), enough)
        return replace(self, fees=fees, room=room)

    @property
    def gas_limit(self) -> int:
        """Some more than estimated, because the state moves on until it is mined."""
        return min(self.need.gas + self.need.gas // 10, MOST_GAS)

    @property
    def most(self) -> int:
        """Wei."""
        return self.need.most(self.fees, self.room)

    @property
    def held(self) -> int:
        """Wei that whoever signs must have for a pool to take it."""
        spare = (self.gas_limit - self.need.gas) * self.fees.dearest
        return self.most + spare
