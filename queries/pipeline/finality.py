"""Transactions that were deep enough to count are looked at once more when their blocks are final.

One that a deeper reorganisation took away is sent again, and what one proved that was mined anew
and failed is proven again. Its batch stays DONE: it was, as deep as the operator asked for; so the
log says it.
"""

from queries.models import SentTransaction
from queries.pipeline.chains import Chains
from queries.pipeline.mined import bounds_of
from queries.pipeline.undone import is_undone, reopen

AT_ONCE = 20


def look_at_final(chains: Chains, destination: int) -> None:
    """Those of this signer on one chain, some at a time."""
    lane = chains.lane(destination)
    rows = SentTransaction.objects.filter(
        chain=destination, sender=lane.signer.address, settled=True, final=False
    )
    final = lane.second_words.final_number()
    # One whose nonce was used for something else was never mined.
    # In any order: those on which nodes do not agree keep no others waiting.
    some = rows.filter(mined_block__lte=final).order_by("?").values_list("pk", flat=True)[:AT_ONCE]
    for row in SentTransaction.objects.filter(pk__in=list(some)):
        mined = lane.destination.mined(row.mined_hash)
        if mined is None or mined.succeeded != row.succeeded:
            if is_undone(lane.destination, lane.second_words, row):
                reopen(row)
        elif lane.second_words.agree_on(row.mined_hash, mined, bounds_of(row)):
            SentTransaction.objects.filter(pk=row.pk).update(final=True)
