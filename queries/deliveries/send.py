"""Send a batch's deliveries: calls to contracts after the batch is DONE, through a `Courier`.

A pass follows the delivery's transaction. If it has none, or the last one failed, the pass tries
the call out on a node and signs it. Another trial, of the contract's own call, shows how much gas
the contract needs, unless the request says what it gets. A call that its contract refuses is tried
again at growing pauses, and has failed once a quorum of nodes says that it is refused still.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

from django.db.models import Q

from accounts.wording import HOUR
from queries.chain import CallRevertedError, ChainClient, TransactionRefusedError
from queries.config.limits import Limits
from queries.contracts.create2 import courier_address, delivery_calldata
from queries.contracts.reverts import describe_revert
from queries.database.clock import shared_now
from queries.database.handler import Handler, Outcome, Wait
from queries.database.leases import Lease, recheck_pause
from queries.deliveries.values import BatchValues
from queries.models import Delivery, SentTransaction
from queries.planning.calls import PlannedCall
from queries.planning.deliveries import gas_with_reserve, needed_gas
from queries.planning.dry_runs import GasEstimate
from queries.planning.readers import ChainReaders
from queries.schema.bodies import MAX_DELIVERY_GAS, MIN_DELIVERY_GAS
from queries.schema.contract_calls import CallValueError, read_call
from queries.schema.functions import parse_error
from queries.statuses import OPEN_DELIVERIES, DeliveryState, GasSource
from queries.transactions.budget import DailyBudgetSpentError, DeliveryGasSpentError, FeeTooLowError
from queries.transactions.context import ProverContext
from queries.transactions.costs import remaining_fees
from queries.transactions.follow import follow
from queries.transactions.lane import Lane
from queries.transitions import begin_next_delivery, end_delivery, mark_delivery_refused
from queries.wait_reasons import Reason, WaitCode


class DeliveryHandler(Handler[Delivery, ProverContext]):
    """Makes passes over deliveries."""

    model = Delivery
    stays_due: ClassVar[Q] = Q(state__in=OPEN_DELIVERIES)  # a reorg has reopened it

    def work(self, lease: Lease[Delivery], context: ProverContext) -> Wait | None:
        destination = lease.row.batch.destination
        if destination not in context.routes.chains:
            pause = timedelta(seconds=context.limits.max_retry_delay)
            return Wait(WaitCode.DESTINATION_REMOVED.reason, pause)
        context.rotate(lease.row.failures, destination)
        return _Pass(lease, context.lane(destination), context).run()

    def outcome_if_too_old(
        self, lease: Lease[Delivery], reason: Reason, limits: Limits
    ) -> Outcome | None:
        """Fail a delivery that was not sent in `batch_max_age`."""
        cutoff = shared_now() - timedelta(seconds=limits.batch_max_age)
        # Read again: this pass may have signed its transaction.
        rows = lease.owned_rows().filter(transaction=None, provable_since__lte=cutoff)
        return _Failed(reason) if rows.exists() else None


@dataclass(frozen=True, slots=True)
class _Failed(Outcome):
    reason: Reason

    def store(self, handler: Handler[Any, Any], lease: Lease[Delivery], limits: Limits) -> None:
        del limits
        end_delivery(lease, DeliveryState.FAILED, self.reason.code, self.reason.sentence)
        handler.close(lease)


@dataclass(frozen=True, slots=True)
class _ContractCall:
    """The call that the Courier makes for `sender`."""

    sender: str
    to: str
    calldata: bytes
    requested_gas: int | None
    errors: tuple[str, ...]  # of the contract, as it declares them

    def courier_calldata(self, gas: int) -> bytes:
        return delivery_calldata(self.to, gas, self.calldata)


class _Trial(NamedTuple):
    """The gas that the contract gets, and that the transaction needs for it."""

    contract_gas: int
    gas: int


class _Pass:
    def __init__(self, lease: Lease[Delivery], lane: Lane, chains: ChainReaders) -> None:
        self.lease, self.lane, self.chains = lease, lane, chains
        self.delivery, self.destination = lease.row, lane.destination

    def run(self) -> Wait | None:
        if row := self.delivery.transaction:
            return self._follow(row)
        batch = self.delivery.batch
        if batch.queries.filter(has_ended=False).exists():
            return self._wait(WaitCode.FACTS_REOPENED)
        if batch.queries.filter(failed=True).exists():
            sentence = f"A reorg removed facts of the batch: {batch.error_sentence}"
            return self._end(DeliveryState.FAILED, Reason(batch.error_code, sentence))
        values = BatchValues(self.delivery.batch, self.chains)
        try:
            if self.delivery.unless and (is_done := self._is_done(values)) is not False:
                return self._end(DeliveryState.SKIPPED) if is_done else self._refuse_condition()
            call = read_call(self.delivery.function, self.delivery.arguments)
            calldata = call.encode(values)
        except CallValueError as error:  # a value does not fit the type of its argument
            return self._end(DeliveryState.FAILED, Reason("argument_malformed", str(error)))
        return self._send(calldata)

    def _follow(self, row: SentTransaction) -> Wait | None:
        if not row.confirmed:
            follow(self.lane, [row], self.destination.latest_head().number)
        if not row.confirmed:
            if not row.succeeded:
                return self._wait(WaitCode.TRANSACTION_PENDING)
            begin_next_delivery(self.delivery)
            return self._wait(WaitCode.CONFIRMING)
        if row.mined_hash and not row.succeeded and not row.final:  # after a reorg it may succeed
            return self._wait(WaitCode.CONFIRMING)
        if row.to != courier_address():
            sentence = "The chain did not accept the transaction, so it was cancelled."
            return self._end(DeliveryState.FAILED, Reason("transaction_refused", sentence))
        if row.succeeded:
            return self._end(DeliveryState.DELIVERED)
        sentence = "The transaction failed, although nodes had expected it to succeed."
        if not row.mined_hash:
            sentence = "Another transaction has used its nonce, so it can never be mined."
        return self._refuse(Reason("transaction_failed", sentence))

    def _is_done(self, values: BatchValues) -> bool | None:
        """What the contract answers to `unless`; None if it says neither yes nor no. Whatever keeps
        the delivery from being sent is asked by quorum.
        """
        function, arguments = self.delivery.unless or ("", [])
        question = self.delivery.to, read_call(function, arguments).encode(values)
        if _read_bool(self.destination, *question) is False:
            return False
        return self.destination.ask_quorum(_read_bool, *question)

    def _refuse_condition(self) -> Wait | None:
        function, _ = self.delivery.unless or ("", [])
        sentence = f"The contract does not answer {function}, which `unless` names."
        return self._refuse(Reason(WaitCode.CONTRACT_REFUSES, sentence))

    def _send(self, calldata: bytes) -> Wait | None:
        delivery, sender = self.delivery, self.lane.signer.address
        requested_gas = delivery.gas if delivery.gas_source == GasSource.REQUEST else None
        errors = tuple(delivery.errors)
        call = _ContractCall(sender, delivery.to, calldata, requested_gas, errors)
        result = _try_out(self.destination, call, self._max_gas(call))
        if isinstance(result, Reason):
            return self._refuse(
                result, lambda: self.destination.ask_quorum(_refusal, call) == result
            )
        delivery.gas, data = result.contract_gas, call.courier_calldata(result.contract_gas)
        try:
            self.lane.send_call(
                courier_address(), PlannedCall(data), result.gas, delivery=self.lease
            )
        except DailyBudgetSpentError:
            return self._wait(WaitCode.DAILY_BUDGET_SPENT)
        except DeliveryGasSpentError:
            return self._wait(
                WaitCode.DELIVERY_GAS_SPENT,
                f"Deliveries of one account may use {self.lane.limits.delivery_gas_per_day:,} gas "
                f"on {self.destination.chain.name} in 24 hours. This one waits until earlier ones "
                "are more than 24 hours old.",
            )
        except FeeTooLowError as error:
            if error.is_temporary:
                return self._wait(WaitCode.FEE_RESERVED)
            head, batch = self.destination.latest_head(), delivery.batch
            left = self._remaining_fee()
            (data_fee,) = self.destination.data_fees([data])
            estimate = GasEstimate(result.gas, data_fee)
            cost = estimate.cost(self.destination.fees(head).next_block_fee)
            sentence = (
                f"The delivery may cost {cost:,} wei, and {left:,} wei of the batch's fee are left."
            )

            def is_dearer(node: ChainClient, _batch: str, amount: int) -> bool:
                return estimate.cost(node.gas_price_after_block(head.number)) > amount

            return self._refuse(
                Reason(WaitCode.FEE_BELOW_GAS_PRICE, sentence),
                lambda: self.destination.ask_quorum(is_dearer, batch.pk, left),
            )
        return Wait(WaitCode.TRANSACTION_PENDING.reason)

    def _max_gas(self, call: _ContractCall) -> int:
        """The gas that the transaction may need: by the chain's cap, and if a trial sets what the
        contract gets, by the rest of the fee.
        """
        chain = self.destination.chain
        if chain.free or call.requested_gas is not None:
            return chain.gas_cap
        (data_fee,) = self.destination.data_fees([call.courier_calldata(MAX_DELIVERY_GAS)])
        price = self.destination.fees(self.destination.latest_head()).next_block_fee
        return min(max(self._remaining_fee() - data_fee, 0) // max(price, 1), chain.gas_cap)

    def _remaining_fee(self) -> int:
        batch = self.delivery.batch
        return max(remaining_fees([batch])[batch.pk], 0)

    def _wait(self, code: WaitCode, sentence: str = "") -> Wait:
        """Look again after a pause that grows with the time since the batch, or the transaction."""
        row, batch = self.delivery.transaction, self.delivery.batch
        start = row.signed_at if row else batch.ended_at or batch.submitted_at
        reason = Reason(code, sentence or code.meaning)
        return Wait(reason, recheck_pause(start, self.lane.limits))

    def _refuse(self, reason: Reason, is_certain: Callable[[], bool] = lambda: True) -> Wait | None:
        """Try again after a pause, or end the delivery after the last attempt. `is_certain` asks a
        quorum of nodes, and raises `NoQuorumError` without one.
        """
        limits, refusals = self.lane.limits, self.delivery.refusals + 1
        is_last = refusals >= limits.delivery_attempts
        # Refusals pause feeds too, so one node's answer counts only once.
        if (refusals > 1 or is_last) and not is_certain():
            refusals = max(self.delivery.refusals, 1)
        elif is_last:
            self.lease.owned_rows().update(refusals=refusals)
            return self._end(DeliveryState.FAILED, reason)
        mark_delivery_refused(self.lease, refusals)
        pause = min(limits.delivery_pause * 2 ** min(refusals - 1, 20), HOUR)
        return Wait(reason, timedelta(seconds=pause), attempts=refusals)

    def _end(self, state: DeliveryState, reason: Reason | None = None) -> Wait | None:
        code, sentence = (reason.code, reason.sentence) if reason else ("", "")
        end_delivery(self.lease, state, code, sentence)
        return None


def _try_out(node: ChainClient, call: _ContractCall, max_gas: int) -> _Trial | Reason:
    """The gas of a call through the Courier, or why it would fail; see `_fit_gas`."""
    chain = node.chain
    if not node.code(courier_address()):
        sentence = f"There is no Courier on {chain.name}. The operator can deploy it."
        return Reason(WaitCode.COURIER_MISSING, sentence)
    try:
        trial = _fit_gas(node, call, max_gas)
    except CallRevertedError as error:
        sentence = describe_revert(error.data, map(parse_error, call.errors))
        return Reason(WaitCode.CONTRACT_REFUSES, sentence)
    except TransactionRefusedError as error:
        return Reason(error.code, error.sentence)
    if trial.gas > chain.gas_cap:
        sentence = (
            f"It needs {trial.gas:,} gas, and a transaction may use at most {chain.gas_cap:,}."
        )
        return Reason("too_much_gas", sentence)
    return trial


def _fit_gas(node: ChainClient, call: _ContractCall, max_gas: int) -> _Trial:
    """Try the call with the requested gas, or with what the contract needs and a reserve. The
    reserve is smaller if the transaction would need more than `max_gas` with it.
    """

    def try_with(contract_gas: int) -> _Trial:
        data = call.courier_calldata(contract_gas)
        return _Trial(contract_gas, node.estimate_gas(call.sender, courier_address(), data))

    if call.requested_gas is not None:
        return try_with(call.requested_gas)
    needed = needed_gas(node, call.to, call.calldata)
    trial = try_with(gas_with_reserve(needed))
    if trial.gas <= max_gas:
        return trial
    # Estimates of nodes are up to 1.5 % too high.
    excess = trial.gas - max_gas + trial.gas // 64
    return try_with(max(trial.contract_gas - excess, needed, MIN_DELIVERY_GAS))


def _refusal(node: ChainClient, call: _ContractCall) -> Reason | None:
    result = _try_out(node, call, node.chain.gas_cap)
    return result if isinstance(result, Reason) else None


def _read_bool(node: ChainClient, contract: str, data: bytes) -> bool | None:
    """What a view says; None if it says neither yes nor no."""
    (answer,) = node.call_contract(contract, [data])
    words = {int(value).to_bytes(32): value for value in (False, True)}
    return words.get(answer) if isinstance(answer, bytes) else None
