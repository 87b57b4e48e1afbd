"""What a day's transactions to a chain may cost: the operator's bound, where one is set.

A batch's fee is what its sender is ready to have spent, and nobody collects it. So whoever has a
key could spend all that the signer has. Once as much is spent as the bound says, nothing is signed
before the day has passed. The transaction that reaches it goes whole: else one that may cost more
than the bound would never go.
"""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import QuerySet

from queries.chain.amounts import whole_units
from queries.models import SentTransaction
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import priced
from queries.pipeline.offers import Offer
from queries.routes import Chain
from queries.wait_reasons import Reason, WaitCode

DAY = timedelta(days=1)
# Nonces are in the order of signing but for some minutes, where one that was left out was taken
# later.
OUT_OF_ORDER = timedelta(hours=1)


class DaySpent(Exception):  # noqa: N818
    """What the operator lets a day's transactions cost is spent: nothing is signed for now."""


def within_the_day(
    chain: Chain, ours: QuerySet[SentTransaction], offered: Sequence[Offer]
) -> Sequence[Offer]:
    """Those of them that may be sent, from the first one on; `DaySpent` where that is none.

    `ours` are the signer's on this chain.
    """
    if chain.most_a_day is None:
        return offered
    left = chain.most_a_day - gone_in_a_day(ours)
    going: list[Offer] = []
    for each in offered:
        if left <= 0:
            break
        going.append(each)
        left -= each.most
    if offered and not going:
        raise DaySpent
    return going


def is_spent(chain: Chain, ours: QuerySet[SentTransaction]) -> bool:
    return chain.most_a_day is not None and gone_in_a_day(ours) >= chain.most_a_day


def why_it_waits(chain: Chain) -> Reason:
    bound = whole_units(chain.most_a_day or 0, chain.currency)
    return Reason(
        WaitCode.DAY_SPENT,
        f"In 24 hours {bound} may be spent on {chain.name}, and so much is spent or on its way.",
    )


def gone_in_a_day(ours: QuerySet[SentTransaction]) -> int:
    """What those signed within a day have cost, and what those on their way may cost at most,
    however long ago they were signed.

    A day may have tens of thousands, so no more is read of them than their costs; and those before
    them are left out by their nonces, which an index has.
    """
    since = shared_now() - DAY
    gone = sum(int(most, 16) for most in ours.filter(settled=False).values_list("most", flat=True))
    mined = ours.filter(settled=True, gas_used__isnull=False, signed__gte=since)
    before = ours.filter(signed__lt=since - OUT_OF_ORDER).order_by("-nonce")
    last = before.values_list("nonce", flat=True).first()
    if last is not None:
        mined = mined.filter(nonce__gt=last)
    costs = mined.values_list("gas_used", "gas_price", "data_fee", "most")
    return gone + sum(priced(*each) for each in costs)
