"""Calls at the current gas price, with what each batch may have to pay for them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queries.chain.answers import ChainHead
from queries.chain.client import ChainClient
from queries.chain.signer import Fees
from queries.models import Batch, Query, Share
from queries.planning.calls import ProveCall
from queries.planning.dry_runs import GasEstimate
from queries.transactions.shares import remaining_fees, split_among_batches


@dataclass(frozen=True, slots=True)
class Offer:
    """A call that may be signed, its fees, and the batches that pay for it."""

    call: ProveCall
    gas: int
    gas_limit: int
    fees: Fees
    max_cost: int  # wei
    shares: Mapping[str, int]  # by batch, wei that it may have to pay

    @property
    def funds_needed(self) -> int:
        """Wei: pools require funds for the whole gas limit."""
        return self.max_cost + (self.gas_limit - self.gas) * self.fees.max_fee


def make_offers(
    destination: ChainClient,
    head: ChainHead,
    estimates: Mapping[ProveCall, GasEstimate],
    paying_queries: Mapping[int, Sequence[Query]],
) -> list[Offer]:
    """Offer the calls at the price after this block; `paying_queries` are by job."""
    fees, offers = destination.fees(head), list[Offer]()
    for call, estimate in estimates.items():
        limit, cost = destination.gas_limit(estimate.gas), estimate.max_cost(fees)
        shares = split_among_batches(call, cost, paying_queries)
        offers.append(Offer(call, estimate.gas, limit, fees, cost, shares))
    return offers


@dataclass(eq=False)
class FeeTooLowError(Exception):
    """The fees of these batches no longer cover the calls."""

    fees_needed: Mapping[str, int]  # by batch
    is_temporary: bool  # more may be left once the cost of their other transactions is known


def check_fees(offers: Sequence[Offer], paying_batches: Sequence[Batch]) -> None:
    """Raises `FeeTooLowError` unless the batches' fees cover the next block's price. The operator
    pays what the transactions cost beyond the fees.
    """
    reserves: dict[str, int] = defaultdict(int)
    next_block_costs: dict[str, int] = defaultdict(int)
    for offer in offers:
        for batch, wei in offer.shares.items():
            reserves[batch] += wei
            next_block_costs[batch] += -(-wei * offer.fees.next_block_fee // offer.fees.max_fee)
    remaining = remaining_fees(paying_batches)
    underfunded = {batch for batch, wei in next_block_costs.items() if remaining[batch] < wei}
    if not underfunded:
        return
    open_shares = Share.objects.filter(batch__in=underfunded, paid="")
    batches_with_open_shares = underfunded.intersection(open_shares.values_list("batch", flat=True))
    spent = {batch.pk: int(batch.fee, 16) - remaining[batch.pk] for batch in paying_batches}
    batches_to_report = underfunded - batches_with_open_shares or underfunded
    fees_needed = {batch: spent[batch] + reserves[batch] for batch in batches_to_report}
    raise FeeTooLowError(fees_needed, is_temporary=underfunded == batches_with_open_shares)
