"""Transactions that were deep enough to count are looked at once more when their blocks are final.

One that a deeper reorganisation took away is sent again, and what one proved that was mined anew
and failed is proven again. Its batch stays DONE: it was, as deep as the operator asked for; so the
log says it.
"""

import logging

from django.db import transaction
from django.db.models import Q

from queries.chain.destination import Destination
from queries.models import BlockJob, Query, SentTransaction
from queries.pipeline.chains import Chains
from queries.pipeline.following import bounds_of
from queries.pipeline.leases import look_now

log = logging.getLogger("tacitus.prover")

AT_ONCE = 50


def look_at_final(chains: Chains, destination: int) -> None:
    """Those of this signer on one chain, some at a time."""
    lane = chains.lane(destination)
    rows = SentTransaction.objects.filter(
        chain=destination, sender=lane.signer.address, settled=True, final=False
    )
    final = lane.destination.head().final_number
    # One whose nonce was used for something else was never mined.
    for row in rows.filter(mined_block__lte=final).order_by("mined_block")[:AT_ONCE]:
        mined = lane.destination.mined(row.mined_hash)
        if mined is not None and mined.succeeded == row.succeeded:
            SentTransaction.objects.filter(pk=row.pk).update(final=True)
        elif _is_undone(lane.destination, row):
            _reopen(row)


def _is_undone(destination: Destination, row: SentTransaction) -> bool:
    """Not for the word of one node; where they do not agree it is looked at again."""
    if destination.is_mined_for_nobody(row.mined_hash):
        return True
    shown = destination.mined_in_its_block(row.mined_hash, bounds_of(row))
    return shown is not None and shown.mined.succeeded != row.succeeded


def _reopen(row: SentTransaction) -> None:
    """Those whose facts it proved are asked again, and end again when they are there again."""
    log.error(
        "Chain %s undid transaction %s after it had been confirmed. What it proved is seen to.",
        row.chain,
        row.mined_hash,
    )
    with transaction.atomic():
        SentTransaction.objects.filter(pk=row.pk).update(
            settled=False, sent=None, mined_hash="", mined_block=None, succeeded=None, gas_used=None
        )
        proven = Query.objects.filter(Q(header_transaction=row) | Q(account_transaction=row))
        proven.filter(values__isnull=False).update(ended=False)
        jobs = BlockJob.objects.filter(transactions=row.pk).values("pk")
        look_now(BlockJob.objects.filter(pk__in=jobs))
