"""Batches that offer less than proving them may cost are told how much it takes in all."""

import time
from collections.abc import Sequence
from contextlib import closing

from queries import transitions
from queries.chain.errors import ChainError
from queries.models import Query
from queries.pipeline.chains import Chains
from queries.pipeline.costs import TooLittleOffered
from queries.pipeline.estimate import estimate
from queries.pipeline.work import Work
from queries.statuses import StepName
from queries.transitions import Failure

SECONDS = 5.0  # for what the rest of all these batches would cost


def reject_who_offer_too_little(
    chains: Chains, works: Sequence[Work], poor: TooLittleOffered
) -> None:
    # Those who share the transaction wait meanwhile; so it takes so long and no longer.
    asking = Chains(chains.routes, until=time.monotonic() + SECONDS, head_is_fresh=SECONDS)
    with closing(asking):
        _reject(asking, works, poor)


def _reject(asking: Chains, works: Sequence[Work], poor: TooLittleOffered) -> None:
    for batch, needed in poor.needed.items():
        rest = Query.objects.filter(batch=batch, ended=False)
        rest = rest.exclude(job__in=[work.job for work in works])
        more = _more(asking, works[0].job.destination, list(rest))
        price = needed + (more or 0)
        beside = "" if more is not None else ", and more for blocks whose price is not known yet"
        sentence = (
            f"Proving this may cost {price:,} wei, and less was offered. Submit it again with a "
            f"fee of at least {price}{beside}."
        )
        failure = Failure("fee_too_low", sentence, StepName.HEADER_ACCUMULATED, retryable=False)
        transitions.reject([batch], failure)


def _more(chains: Chains, destination: int, queries: Sequence[Query]) -> int | None:
    """What the batch's other blocks would cost; None where that cannot be told yet."""
    try:
        prices = [each.price for each in estimate(chains, destination, queries).blocks]
    except ChainError:
        return None
    known = [price.cost for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
