"""Try out calls on a node: the gas that they need, or why they cannot be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.shared.wording import excerpt
from queries.chain.client import ChainClient
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
class GasEstimate:
    """The gas that a call needs, and on an OP-stack chain the fee for its L1, in wei."""

    gas: int
    data_fee: int = 0

    def max_cost(self, fees: Fees) -> int:
        """The maximum cost in wei. The gas price of the L1 may double as well."""
        return self.gas * fees.max_fee + 2 * self.data_fee


@dataclass(frozen=True, slots=True)
class CallEstimator:
    """Tries out calls to a registry; `destination` may be a view of one node."""

    destination: ChainClient
    registry: str
    sender: str

    def estimate_and_split(
        self, calls: Sequence[ProveCall], override: StateOverride | None = None
    ) -> dict[ProveCall, GasEstimate | CallRefusal]:
        """Return the gas that each call needs, or its refusal.

        A call with too much gas is halved until it fits. A call that is refused for another reason
        is halved down to single pieces, with all hashes.
        """
        results: dict[ProveCall, GasEstimate | CallRefusal] = {}
        estimates = self._estimate(calls, override)
        for call, estimate in zip(calls, estimates, strict=True):
            has_parts = call.is_short or len(call.pieces) > 1
            may_fit_in_parts = isinstance(estimate, TooMuchGasError) or (
                has_parts and not isinstance(estimate, GasEstimate)
            )
            fallbacks = call.fallback_calls() if may_fit_in_parts else ()
            results |= (
                self.estimate_and_split(fallbacks, override) if fallbacks else {call: estimate}
            )
        return results

    def _estimate(
        self, calls: Sequence[ProveCall], override: StateOverride | None
    ) -> list[GasEstimate | CallRefusal]:
        cap, name = self.destination.chain.gas_cap, self.destination.chain.name
        results: list[GasEstimate | CallRefusal] = []
        contract_calls = [(call.to or self.registry, call.data) for call in calls]
        gas = self.destination.estimate_gas_for_calls(self.sender, contract_calls, override)
        data_fees = self.destination.data_fees([call.data for call in calls])
        for result, data_fee in zip(gas, data_fees, strict=True):
            if not isinstance(result, int):
                results.append(result)
            elif result <= cap:
                results.append(GasEstimate(result, data_fee))
            else:  # with less gas it would fail, and cost gas
                sentence = (
                    f"A call that cannot be split needs {result:,} gas; a transaction on {name} "
                    f"may use at most {cap:,}."
                )
                results.append(TooMuchGasError(sentence))
        return results


def describe_refusal(error: CallRevertedError) -> str:
    """A sentence on why the registry refuses a call."""
    if isinstance(error, BeyondHorizonError):
        return error.sentence
    return f"The registry refuses the proof: 0x{excerpt(error.data.hex())}."
