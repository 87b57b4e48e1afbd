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


def look_at_final(chains: Chains, destination: int) -> None:
    """Those of this signer on one chain, some at a time."""
    lane = chains.lane(destination)
    rows = SentTransaction.objects.filter(
        chain=destination, sender=lane.signer.address, settled=True, final=False
    )
    final = lane.second_words.final_number()
    # One whose nonce was used for something else was never mined.
    # In any order: those on which nodes do not agree keep no others waiting.
    deep_enough = rows.filter(mined_block__lte=final).order_by("?")
    some = list(deep_enough.values_list("pk", flat=True)[:AT_ONCE])
    until, by_pk = time.monotonic() + LOOKING, SentTransaction.objects.in_bulk(some)
    for row in map(by_pk.__getitem__, some):
        if time.monotonic() > until:
            return
        if _stays(lane, row):
            SentTransaction.objects.filter(pk=row.pk, settled=True).update(final=True)


def _stays(lane: Lane, row: SentTransaction) -> bool:
    """As it is noted, or was corrected: by two, where there are two, whichever is asked first."""
    words, bounds = lane.second_words, bounds_of(row)
    same_gas = False
    for _ in lane.destination.with_each_first():
        shown = lane.destination.mined_in_its_block(row.mined_hash, bounds)
        if shown is None or shown.mined.succeeded != row.succeeded:
            if is_undone(lane.destination, words, row):
                reopen(row)
                return False
            continue
        told = copy(row)
        note_in_its_block(told, shown)
        is_noted = all(getattr(told, name) == getattr(row, name) for name in OF_ITS_COST)
        if words.agree_to_the_wei(row.mined_hash, shown.mined, bounds, by_two=not is_noted):
            if not is_noted:
                log.warning("Transaction %s cost something else.", row.mined_hash)
                settle_costs(told, free=lane.destination.chain.free, anew=True)
            return True
        if told.gas_used == row.gas_used:
            # Of prices no two may tell the same; they are within what was signed.
            same_gas = same_gas or words.agree_on(row.mined_hash, shown.mined, bounds)
    return same_gas
