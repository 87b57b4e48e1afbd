"""Try calls out on a node: the gas that each one needs, or why it cannot be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.shared.wording import beginning
from queries.chain.errors import BeyondHorizonError, CallReverted, TooMuchGas, TransactionRefused
from queries.chain.sender import Destination
from queries.chain.signer import Fees
from queries.contracts.abi import AsIf
from queries.planning.calls import Call

Refusal = CallReverted | TransactionRefused


# What calls need


@dataclass(frozen=True, slots=True)
class Need:
    """What a call needs: gas, and on an OP-stack chain wei beside it for its L1."""

    gas: int
    data_fee: int = 0

    def most(self, fees: Fees) -> int:
        """Wei. The L1's gas price may double as well."""
        return self.gas * fees.dearest + 2 * self.data_fee


@dataclass(frozen=True, slots=True)
class Pricing:
    """Tries out calls to a registry; `destination` may be a view of one node."""

    destination: Destination
    registry: str
    sender: str

    def fit(self, calls: Sequence[Call], as_if: AsIf | None = None) -> dict[Call, Need | Refusal]:
        """What each call needs, or why it can have no transaction.

        A call with too much gas is halved until it fits. A call that is refused for another reason
        is halved down to single pieces, with all hashes.
        """
        found: dict[Call, Need | Refusal] = {}
        needs = self._needs([call.data for call in calls], as_if)
        for call, need in zip(calls, needs, strict=True):
            smaller = call.halves() if _may_fit_in_parts(call, need) else ()
            found |= self.fit(smaller, as_if) if smaller else {call: need}
        return found

    def _needs(self, calls: Sequence[bytes], as_if: AsIf | None) -> list[Need | Refusal]:
        cap, name = self.destination.chain.gas_cap, self.destination.chain.name
        found: list[Need | Refusal] = []
        gas = self.destination.gas_needed_by_each(self.sender, self.registry, calls, as_if)
        for each, data_fee in zip(gas, self.destination.data_fees(calls), strict=True):
            if not isinstance(each, int):
                found.append(each)
            elif each <= cap:
                found.append(Need(each, data_fee))
            else:  # with less gas it would fail, and be paid for
                found.append(
                    TooMuchGas(
                        f"One fact takes a transaction of {each:,} gas, and none may have more "
                        f"than {cap:,} on {name}."
                    )
                )
        return found


def _may_fit_in_parts(call: Call, need: Need | Refusal) -> bool:
    has_parts = call.is_short or len(call.pieces) > 1
    return isinstance(need, TooMuchGas) or (has_parts and not isinstance(need, Need))


def refusal_of(reverted: CallReverted) -> str:
    """What the registry answered to a call that is not sent, for people."""
    if isinstance(reverted, BeyondHorizonError):
        return reverted.sentence.rstrip(".")
    return f"The registry refuses the proof: 0x{beginning(reverted.data.hex())}"
