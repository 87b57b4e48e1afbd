"""Try out calls on a node: the gas that they need, or why they cannot be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.shared.wording import excerpt
from queries.chain.destination import Destination
from queries.chain.errors import (
    BeyondHorizonError,
    CallRevertedError,
    TooMuchGasError,
    TransactionRefusedError,
)
from queries.chain.signer import Fees
from queries.contracts.abi import StateOverride
from queries.planning.calls import ProveCall

CallRefusal = CallRevertedError | TransactionRefusedError


@dataclass(frozen=True, slots=True)
class GasNeed:
    """What a call needs: gas, and on an OP-stack chain wei for its L1."""

    gas: int
    data_fee: int = 0

    def max_cost(self, fees: Fees) -> int:
        """Wei. The gas price of the L1 may double as well."""
        return self.gas * fees.max_fee + 2 * self.data_fee


@dataclass(frozen=True, slots=True)
class Pricing:
    """Tries out calls to a registry; `destination` may be a view of one node."""

    destination: Destination
    registry: str
    sender: str

    def fit(
        self, calls: Sequence[ProveCall], override: StateOverride | None = None
    ) -> dict[ProveCall, GasNeed | CallRefusal]:
        """What the calls need, or why they are refused.

        A call with too much gas is halved until it fits. A call that is refused for another reason
        is halved down to single pieces, with all hashes.
        """
        results: dict[ProveCall, GasNeed | CallRefusal] = {}
        needs = self._needs([call.data for call in calls], override)
        for call, need in zip(calls, needs, strict=True):
            smaller = call.halves() if _may_fit_in_parts(call, need) else ()
            results |= self.fit(smaller, override) if smaller else {call: need}
        return results

    def _needs(
        self, calls: Sequence[bytes], override: StateOverride | None
    ) -> list[GasNeed | CallRefusal]:
        cap, name = self.destination.chain.gas_cap, self.destination.chain.name
        results: list[GasNeed | CallRefusal] = []
        gas = self.destination.estimate_gas_for_calls(self.sender, self.registry, calls, override)
        for result, data_fee in zip(gas, self.destination.data_fees(calls), strict=True):
            if not isinstance(result, int):
                results.append(result)
            elif result <= cap:
                results.append(GasNeed(result, data_fee))
            else:  # with less gas it would fail, and cost gas
                results.append(
                    TooMuchGasError(
                        f"One fact takes a transaction of {result:,} gas, and none may have more "
                        f"than {cap:,} on {name}."
                    )
                )
        return results


def _may_fit_in_parts(call: ProveCall, need: GasNeed | CallRefusal) -> bool:
    has_parts = call.is_short or len(call.pieces) > 1
    return isinstance(need, TooMuchGasError) or (has_parts and not isinstance(need, GasNeed))


def describe_refusal(error: CallRevertedError) -> str:
    """A sentence on why the registry refuses a call."""
    if isinstance(error, BeyondHorizonError):
        return error.sentence.rstrip(".")
    return f"The registry refuses the proof: 0x{excerpt(error.data.hex())}"
