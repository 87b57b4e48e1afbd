"""Transactions that were deep enough to count are looked at once more when their blocks are final.

One that a deeper reorganisation took away is sent again, and what one proved that was mined anew
and failed is proven again. Its batch stays DONE: it was, as deep as the operator asked for; so the
log says it. One that has cost something else, because it was mined in another block or a node that
was alone made it up, is borne at that from then on.
"""

import logging
import time
from copy import copy

from queries.models import SentTransaction
from queries.pipeline.chains import Chains
from queries.pipeline.costs import settle_costs
from queries.pipeline.gas_prices import note_in_its_block
from queries.pipeline.lane import Lane
from queries.pipeline.mined import bounds_of
from queries.pipeline.undone import is_undone, reopen

AT_ONCE = 20
LOOKING = 1.0  # seconds, after which no further one is begun: a node may take long and lie for ever
OF_ITS_COST = ("mined_block", "gas_used", "gas_price", "data_fee")

log = logging.getLogger("tacitus.prover")


def look_at_final(chains: Chains, destination: int) -> bool:
    """Those of this signer on one chain, some at a time. Whether more wait, and are getting on."""
    lane = chains.lane(destination)
    rows = SentTransaction.objects.filter(
        chain=destination, sender=lane.signer.address, settled=True, final=False
    )
    final = lane.second_words.final_number()
    # One whose nonce was used for something else was never mined.
    # In any order: those on which nodes do not agree keep no others waiting.
    deep_enough = rows.filter(mined_block__lte=final)
    some = list(deep_enough.order_by("?").values_list("pk", flat=True)[:AT_ONCE])
    until, by_pk = time.monotonic() + LOOKING, SentTransaction.objects.in_bulk(some)
    ended = 0
    for row in map(by_pk.__getitem__, some):
        if time.monotonic() > until:
            return ended > 0
        if stays := _stays(lane, row):
            # Not one that was undone and mined anew meanwhile, or has a later block than was noted.
            as_it_is = deep_enough.filter(pk=row.pk, mined_hash=stays.mined_hash)
            ended += as_it_is.filter(mined_block=stays.mined_block).update(final=True)
    return len(some) == AT_ONCE and ended > 0


def _stays(lane: Lane, row: SentTransaction) -> SentTransaction | None:
    """As it is noted, or was corrected: by two, where there are two, whichever is asked first."""
    words, bounds = lane.second_words, bounds_of(row)
    same_gas = False
    for _ in lane.destination.with_each_first():
        shown = lane.destination.mined_in_its_block(row.mined_hash, bounds)
        if shown is None or shown.mined.succeeded != row.succeeded:
            if is_undone(lane.destination, words, row):
                reopen(row)
                return None
            continue
        told = copy(row)
        note_in_its_block(told, shown)
        is_noted = all(getattr(told, name) == getattr(row, name) for name in OF_ITS_COST)
        if words.agree_to_the_wei(row.mined_hash, shown.mined, bounds, by_two=not is_noted):
            if not is_noted:
                log.warning("Transaction %s cost something else.", row.mined_hash)
                settle_costs(told, free=lane.destination.chain.free, anew=True)
            return told if told.raw == row.raw else None  # another one was signed meanwhile
        if told.gas_used == row.gas_used:
            # Of prices no two may tell the same; they are within what was signed.
            same_gas = same_gas or words.agree_on(row.mined_hash, shown.mined, bounds)
    return row if same_gas else None
