"""Price calls, and limit them to the fees of their batches and to what a day may cost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Case, F, Q, QuerySet, Sum, When
from django.db.models.functions import Coalesce

from queries.chain import ChainClient, ChainHead, Fees
from queries.config.chains import Chain
from queries.contracts.create2 import courier_address
from queries.database.clock import shared_now
from queries.models import Batch, Query, SentTransaction, Share
from queries.planning.calls import PlannedCall
from queries.planning.dry_runs import GasEstimate
from queries.transactions.costs import remaining_fees, split_among_batches, transaction_cost


@dataclass(frozen=True, slots=True)
class PricedCall:
    """A call that may be signed, its fees, and the batches that pay for it."""

    call: PlannedCall
    gas_limit: int
    fees: Fees
    max_cost: int  # wei
    next_block_cost: int  # wei, if the next block contains it
    funds_needed: int  # wei of the signer: pools require them for the whole gas limit
    shares: Mapping[str, int]  # by batch id, the wei that it may have to pay


def price_calls(
    destination: ChainClient,
    head: ChainHead,
    estimates: Mapping[PlannedCall, GasEstimate],
    paying_queries: Mapping[int, Sequence[Query]],
) -> list[PricedCall]:
    """Price the calls for the block after `head`; `paying_queries` are by job key."""
    fees, priced_calls = destination.fees(head), list[PricedCall]()
    for call, estimate in estimates.items():
        gas_limit, cost = destination.gas_limit(estimate.gas), estimate.max_cost(fees)
        next_block_cost = estimate.cost(fees.next_block_fee)
        funds_needed = cost + (gas_limit - estimate.gas) * fees.max_fee
        shares = split_among_batches(call, cost, paying_queries)
        priced_calls.append(
            PricedCall(call, gas_limit, fees, cost, next_block_cost, funds_needed, shares)
        )
    return priced_calls


@dataclass(eq=False)
class FeeTooLowError(Exception):
    """The fees of these batches no longer cover the calls."""

    fees_needed: Mapping[str, int]  # by batch id
    is_temporary: bool  # more may be left once the cost of their other transactions is known


def check_fees(priced_calls: Sequence[PricedCall], paying_batches: Sequence[Batch]) -> None:
    """Raises `FeeTooLowError` unless the batches' fees cover the next block's price. The operator
    pays what the transactions cost beyond the fees.
    """
    reserves: dict[str, int] = defaultdict(int)
    next_block_costs: dict[str, int] = defaultdict(int)
    for priced_call in priced_calls:
        for batch_id, wei in priced_call.shares.items():
            reserves[batch_id] += wei
            part = -(-wei * priced_call.next_block_cost // priced_call.max_cost)
            next_block_costs[batch_id] += part
    underfunded_ids = underfunded_batches(paying_batches, next_block_costs)
    if not underfunded_ids:
        return
    fees_left = remaining_fees(paying_batches)
    unconfirmed_shares = Share.objects.filter(batch__in=underfunded_ids, paid="")
    unconfirmed_ids = set(unconfirmed_shares.values_list("batch", flat=True))
    spent_fees = {batch.pk: int(batch.fee, 16) - fees_left[batch.pk] for batch in paying_batches}
    reported_ids = underfunded_ids - unconfirmed_ids or underfunded_ids
    fees_needed = {key: spent_fees[key] + reserves[key] for key in reported_ids}
    raise FeeTooLowError(fees_needed, is_temporary=underfunded_ids == unconfirmed_ids)


def underfunded_batches(batches: Iterable[Batch], costs: Mapping[str, int]) -> set[str]:
    """Ids of the batches that have less of their fee left than these costs."""
    fees_left = remaining_fees(batches)
    return {batch_id for batch_id, wei in fees_left.items() if wei < costs[batch_id]}


class DailyBudgetSpentError(Exception):
    """The daily budget is spent: sign nothing for now."""


def cut_at_daily_budget(
    chain: Chain, own_rows: QuerySet[SentTransaction], priced_calls: Sequence[PricedCall]
) -> Sequence[PricedCall]:
    """Return the first calls until the budget is reached; the last one may exceed it. `own_rows`:
    the signer's transactions on this chain. Raises `DailyBudgetSpentError` if the budget is already
    reached.
    """
    budget = chain.daily_budget
    if budget is None:
        return priced_calls
    spent, calls_in_budget = spent_in_24_hours(own_rows), list[PricedCall]()
    for priced_call in priced_calls:
        if spent >= budget:
            break
        calls_in_budget.append(priced_call)
        spent += priced_call.max_cost
    if priced_calls and not calls_in_budget:
        raise DailyBudgetSpentError
    return calls_in_budget


def is_budget_spent(chain: Chain, own_rows: QuerySet[SentTransaction]) -> bool:
    return chain.daily_budget is not None and spent_in_24_hours(own_rows) >= chain.daily_budget


def spent_in_24_hours(own_rows: QuerySet[SentTransaction]) -> int:
    """The wei that transactions of the last 24 hours have cost, or unconfirmed ones may cost."""
    rows = _rows_of_24_hours(own_rows).defer("raw", "hashes")
    return sum(transaction_cost(row) if row.confirmed else int(row.max_cost, 16) for row in rows)


class DeliveryGasSpentError(Exception):
    """The account's deliveries have used the gas of a day on this chain: sign none for now."""


def check_delivery_gas(own_rows: QuerySet[SentTransaction], account_id: int, limit: int) -> None:
    """Raises `DeliveryGasSpentError` if the limit is reached; the last delivery may exceed it."""
    if delivery_gas_in_24_hours(own_rows, account_id) >= limit:
        raise DeliveryGasSpentError


def delivery_gas_in_24_hours(own_rows: QuerySet[SentTransaction], account_id: int) -> int:
    """The gas that the account's deliveries of the last 24 hours have used, also those that failed,
    or unconfirmed ones may use.
    """
    rows = _rows_of_24_hours(own_rows).filter(to=courier_address(), shares__batch__owner=account_id)
    gas = Case(When(confirmed=True, then=Coalesce("gas_used", 0)), default=F("gas_limit"))
    return int(rows.aggregate(gas=Sum(gas))["gas"] or 0)


def _rows_of_24_hours(own_rows: QuerySet[SentTransaction]) -> QuerySet[SentTransaction]:
    day_ago = shared_now() - timedelta(days=1)
    return own_rows.filter(Q(confirmed=False) | Q(signed_at__gte=day_ago))
