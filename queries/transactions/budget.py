"""The daily budget of a chain, which limits what the operator can lose."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import accumulate

from django.db.models import Q, QuerySet

from queries.config.routes import Chain
from queries.database.clock import shared_now
from queries.models import SentTransaction
from queries.transactions.offers import Offer
from queries.transactions.receipts import price_of

# The daily budget


class DaySpent(Exception):  # noqa: N818
    """The daily budget is spent: nothing is signed for now."""


def within_the_day(
    chain: Chain, ours: QuerySet[SentTransaction], offers: Sequence[Offer]
) -> Sequence[Offer]:
    """The first offers, up to the one that reaches the budget. `DaySpent` if none may go.

    `ours` are the signer's on this chain.
    """
    if chain.most_a_day is None:
        return offers
    gone = accumulate((offer.most for offer in offers), initial=gone_in_a_day(ours))
    going = [
        offer for offer, before in zip(offers, gone, strict=False) if before < chain.most_a_day
    ]
    if offers and not going:
        raise DaySpent
    return going


def is_spent(chain: Chain, ours: QuerySet[SentTransaction]) -> bool:
    return chain.most_a_day is not None and gone_in_a_day(ours) >= chain.most_a_day


def gone_in_a_day(ours: QuerySet[SentTransaction]) -> int:
    """Wei: what transactions signed within a day have cost, and what unsettled ones may cost."""
    a_day_ago = shared_now() - timedelta(days=1)
    rows = ours.filter(Q(settled=False) | Q(signed__gte=a_day_ago))
    found = rows.only("settled", "most", "gas_used", "gas_price", "data_fee")
    return sum(price_of(row) if row.settled else int(row.most, 16) for row in found)
