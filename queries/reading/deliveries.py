"""A batch's deliveries, with their transactions and what they wait for; the gas of an account's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.models import Account
from queries.models import ChainRecord, Delivery, SentTransaction
from queries.statuses import DeliveryState, GasSource
from queries.transactions.budget import delivery_gas_in_24_hours
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A call to a contract that the batch ends with."""

    to: str
    function: str  # its signature, as the request spells it
    arguments: Sequence[object]  # as in the request, with placeholders
    gas: int | None  # that the contract gets; None until a trial shows it
    gas_source: GasSource
    unless: Sequence[object] | None  # the function and arguments of a call
    state: DeliveryState
    transaction_hash: str  # empty if none was sent
    transaction_block: int | None  # once it is mined
    gas_used: int | None
    ended_at: datetime | None
    waits_for: Reason | None
    error: Reason | None  # why it failed
    refusals: int  # attempts that failed or would have
    retry_at: datetime | None  # after a refusal


def delivery_states(batch_ids: Iterable[str]) -> Mapping[str, Sequence[DeliveryState]]:
    """The states of the deliveries of these batches."""
    states = defaultdict[str, list[DeliveryState]](list)
    rows = Delivery.objects.filter(batch__in=batch_ids).order_by("batch", "position")
    for batch_id, state in rows.values_list("batch", "state"):
        states[batch_id].append(DeliveryState(state))
    return states


def read_deliveries(batch_ids: Iterable[str]) -> Mapping[str, Sequence[DeliveryView]]:
    """The deliveries of these batches, in the order of the requests."""
    deliveries = defaultdict[str, list[DeliveryView]](list)
    rows = Delivery.objects.filter(batch__in=batch_ids).select_related("transaction")
    for row in rows.defer("transaction__raw").order_by("batch", "position"):
        deliveries[row.batch_id].append(_delivery_view(row))
    return deliveries


def delivery_gas(owner: Account) -> Mapping[int, int]:
    """The gas of the account's deliveries in 24 hours, by destination, as far as it is limited."""
    signers = (
        ChainRecord.objects.exclude(signer="").order_by("chain").values_list("chain", "signer")
    )
    rows = {
        chain: SentTransaction.objects.filter(chain=chain, sender=signer)
        for chain, signer in signers
    }
    amounts = {chain: delivery_gas_in_24_hours(rows[chain], owner.pk) for chain in rows}
    return {chain: gas for chain, gas in amounts.items() if gas}


def _delivery_view(row: Delivery) -> DeliveryView:
    sent = row.transaction
    return DeliveryView(
        to=row.to,
        function=row.function,
        arguments=row.arguments,
        gas=row.gas,
        gas_source=GasSource(row.gas_source),
        unless=row.unless,
        state=DeliveryState(row.state),
        transaction_hash=(sent.mined_hash or sent.hashes[-1]) if sent else "",
        transaction_block=sent.mined_block if sent else None,
        gas_used=sent.gas_used if sent else None,
        ended_at=row.ended_at,
        waits_for=Reason(row.wait_code, row.waits_for) if row.wait_code else None,
        error=Reason(row.error_code, row.error_sentence) if row.error_code else None,
        refusals=row.refusals,
        retry_at=row.due_at if row.refusals and row.state == DeliveryState.WAITING else None,
    )
