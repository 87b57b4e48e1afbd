"""Try out calls on a node: the gas that they need, or why they cannot be sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from queries.chain import (
    BeyondHorizonError,
    CallRevertedError,
    ChainClient,
    Fees,
    TooMuchGasError,
    TransactionRefusedError,
)
from queries.contracts.abi import StateOverride
from queries.contracts.reverts import format_error
from queries.planning.calls import PlannedCall

CallRefusal = CallRevertedError | TransactionRefusedError


@dataclass(frozen=True, slots=True)
class GasEstimate:
    """The gas that a call needs, and on an OP-stack chain the fee for its L1, in wei."""

    gas: int
    data_fee: int = 0

    def cost(self, gas_price: int) -> int:
        """The cost in wei at this gas price, and at the L1's present price."""
        return self.gas * gas_price + self.data_fee

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
        self, calls: Sequence[PlannedCall], override: StateOverride | None = None
    ) -> dict[PlannedCall, GasEstimate | CallRefusal]:
        """Return the gas that each call needs, or its refusal.

        A call with too much gas is halved until it fits. A call that is refused for another reason
        is halved down to single pieces, with all hashes.
        """
        chain, results = self.destination.chain, dict[PlannedCall, GasEstimate | CallRefusal]()
        contract_calls = [(call.to or self.registry, call.data) for call in calls]
        answers = self.destination.estimate_gas_for_calls(self.sender, contract_calls, override)
        data_fees = self.destination.data_fees([call.data for call in calls])
        for call, answer, data_fee in zip(calls, answers, data_fees, strict=True):
            if isinstance(answer, int) and answer <= chain.gas_cap:
                results[call] = GasEstimate(answer, data_fee)
                continue
            refusal = answer
            if isinstance(refusal, int):  # with less gas it would fail, and cost gas
                refusal = TooMuchGasError(
                    f"A call that cannot be split needs {answer:,} gas; a transaction on "
                    f"{chain.name} may use at most {chain.gas_cap:,}."
                )
            has_parts = call.is_short or len(call.pieces) > 1
            may_fit_in_parts = has_parts or isinstance(refusal, TooMuchGasError)
            parts = call.fallback_calls() if may_fit_in_parts else ()
            results |= self.estimate_and_split(parts, override) if parts else {call: refusal}
        return results


def describe_refusal(error: CallRevertedError) -> str:
    """A sentence on why the registry refuses a call."""
    if isinstance(error, BeyondHorizonError):
        return error.sentence
    if not error.data:
        return "The registry, or a contract that it asks, reverts without a reason."
    return f"The registry refuses the proof: {format_error(error.data)}."
