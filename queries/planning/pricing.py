"""Try out calls on a node: the gas that they need, or why they cannot be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.shared.wording import beginning
from queries.chain.errors import BeyondHorizonError, CallReverted, TooMuchGas, TransactionRefused
from queries.chain.sender import Destination
from queries.chain.signer import Fees
from queries.contracts.abi import AsIf
from queries.planning.calls import Call

CallRefusal = CallReverted | TransactionRefused


@dataclass(frozen=True, slots=True)
class Need:
    """What a call needs: gas, and on an OP-stack chain wei for its L1."""

    gas: int
    data_fee: int = 0

    def most(self, fees: Fees) -> int:
        """Wei. The gas price of the L1 may double as well."""
        return self.gas * fees.dearest + 2 * self.data_fee


@dataclass(frozen=True, slots=True)
class Pricing:
    """Tries out calls to a registry; `destination` may be a view of one node."""

    destination: Destination
    registry: str
    sender: str

    def fit(
        self, calls: Sequence[Call], override: AsIf | None = None
    ) -> dict[Call, Need | CallRefusal]:
        """What the calls need, or why they are refused.

        A call with too much gas is halved until it fits. A call that is refused for another reason
        is halved down to single pieces, with all hashes.
        """
        results: dict[Call, Need | CallRefusal] = {}
        needs = self._needs([call.data for call in calls], override)
        for call, need in zip(calls, needs, strict=True):
            smaller = call.halves() if _may_fit_in_parts(call, need) else ()
            results |= self.fit(smaller, override) if smaller else {call: need}
        return results

    def _needs(self, calls: Sequence[bytes], override: AsIf | None) -> list[Need | CallRefusal]:
        cap, name = self.destination.chain.gas_cap, self.destination.chain.name
        results: list[Need | CallRefusal] = []
        gas = self.destination.gas_needed_by_each(self.sender, self.registry, calls, override)
        for result, data_fee in zip(gas, self.destination.data_fees(calls), strict=True):
            if not isinstance(result, int):
                results.append(result)
            elif result <= cap:
                results.append(Need(result, data_fee))
            else:  # with less gas it would fail, and cost gas
                results.append(
                    TooMuchGas(
                        f"One fact takes a transaction of {result:,} gas, and none may have more "
                        f"than {cap:,} on {name}."
                    )
                )
        return results


def _may_fit_in_parts(call: Call, need: Need | CallRefusal) -> bool:
    has_parts = call.is_short or len(call.pieces) > 1
    return isinstance(need, TooMuchGas) or (has_parts and not isinstance(need, Need))


def refusal_of(error: CallReverted) -> str:
    """A sentence on why the registry refuses a call."""
    if isinstance(error, BeyondHorizonError):
        return error.sentence.rstrip(".")
    return f"The registry refuses the proof: 0x{beginning(error.data.hex())}"
