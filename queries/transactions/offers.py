"""Calls at the current gas price, with what each batch may have to pay for them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queries.chain.sender import Destination
from queries.chain.signer import Fees
from queries.models import Batch, Query, Share
from queries.planning.calls import Call
from queries.planning.pricing import Need
from queries.transactions.shares import remaining_fees, shares_of


@dataclass(frozen=True, slots=True)
class Offer:
    """A call that may be signed, what is paid for its gas, and by which batches."""

    call: Call
    gas: int
    gas_limit: int
    fees: Fees
    most: int  # wei
    shares: Mapping[str, int]  # by batch, wei that it may have to pay

    @property
    def held(self) -> int:
        """Wei that a pool wants the signer to have: for the whole gas limit."""
        return self.most + (self.gas_limit - self.gas) * self.fees.dearest


def offers_of(
    destination: Destination, needs: Mapping[Call, Need], payers: Mapping[int, Sequence[Query]]
) -> list[Offer]:
    """The calls at the current price; `payers` are the queries of each job."""
    fees, offers = destination.fees(), list[Offer]()
    for call, need in needs.items():
        limit, most = destination.gas_limit(need.gas), need.most(fees)
        offers.append(Offer(call, need.gas, limit, fees, most, shares_of(call, most, payers)))
    return offers


@dataclass(eq=False)
class FeeTooLow(Exception):  # noqa: N818
    """These batches have less left of their fees than is needed."""

    needed: Mapping[str, int]
    waits: bool  # more may be left once it is known what their other transactions cost


def check_fees(offers: Sequence[Offer], payers: Sequence[Batch]) -> None:
    """`FeeTooLow` unless the batches' fees cover the next block's price. The operator bears what
    the transactions cost beyond the fees.
    """
    asked: dict[str, int] = defaultdict(int)
    enough: dict[str, int] = defaultdict(int)
    for offer in offers:
        for batch, wei in offer.shares.items():
            asked[batch] += wei
            enough[batch] += -(-wei * offer.fees.enough // offer.fees.dearest)
    left = remaining_fees(payers)
    poor = {batch for batch, wei in enough.items() if left[batch] < wei}
    if poor:
        unsettled = Share.objects.filter(batch__in=poor, paid="")
        waiting = poor.intersection(unsettled.values_list("batch", flat=True))
        fee = {batch.pk: int(batch.fee, 16) for batch in payers}
        needed = {each: fee[each] - left[each] + asked[each] for each in poor - waiting or poor}
        raise FeeTooLow(needed, waits=poor == waiting)
