"""What was mined, by all that was told, and is undone all the same: it is followed again.

Nothing that was paid for is paid for twice: what was signed is sent again as it is stored.
"""

import logging

from django.db import transaction
from django.db.models import Q

from queries.chain.destination import Destination
from queries.chain.errors import RegistryMisread
from queries.chain.second_words import SecondWords, Vote
from queries.models import BlockJob, Query, SentTransaction
from queries.pipeline.leases import look_now
from queries.pipeline.mined import bounds_of
from queries.pipeline.work import LATER, SOON, Wait
from queries.wait_reasons import Reason, WaitCode

AT_ONCE = 500  # rows that a statement names

log = logging.getLogger("tacitus.prover")

SENT_AGAIN = Reason(
    WaitCode.TRANSACTION_ON_ITS_WAY, "Its transaction was undone; it is on its way again."
)
LOOKED_INTO = Reason(
    WaitCode.TRANSACTION_ON_ITS_WAY,
    "Nodes do not agree on whether its transaction was mined; it is looked at again.",
)


def is_undone(destination: Destination, words: SecondWords, row: SentTransaction) -> bool:
    """Not mined, or with another end. Not for the word of one node, where there are two: what it
    proved would be paid for again. Where they do not agree, or one is away, it is looked at again.
    """
    if destination.is_denied(row.mined_hash):
        return True
    shown = destination.mined_in_its_block(row.mined_hash, bounds_of(row))
    if shown is None or shown.mined.succeeded == row.succeeded:
        return False
    vote = words.vote_on(row.mined_hash, shown.mined, bounds_of(row), by_two=True)
    return vote is Vote.AGREED


def seen_to_where_undone(
    destination: Destination, words: SecondWords, row: SentTransaction
) -> Wait | None:
    """Before anyone is asked about what it has stored."""
    if row.settled and is_undone(destination, words, row):
        reopen(row)
        return Wait(SOON, SENT_AGAIN)
    return None


def seen_to_where_denied(
    destination: Destination, words: SecondWords, row: SentTransaction
) -> Wait:
    """Two nodes lack what it has stored, so one of those that have told of its receipt may lie."""
    if not row.settled:
        destination.send_to_each(row.raw)
        return Wait(LATER, LOOKED_INTO)
    mined = destination.mined(row.mined_hash)
    if mined is None or not words.agree_on(row.mined_hash, mined, bounds_of(row)):
        reopen(row)
        return Wait(SOON, SENT_AGAIN)
    raise RegistryMisread(
        f"Nodes of the destination say that {row.mined_hash} was mined, and deny what it stored."
    )


def reopen(row: SentTransaction) -> None:
    """Those whose facts it proved are asked again, and end again when they are there again."""
    log.error(
        "Chain %s undid transaction %s after it had been confirmed. What it proved is seen to.",
        row.chain,
        row.mined_hash,
    )
    with transaction.atomic():
        # Jobs before their queries, as whoever signs locks them.
        jobs = BlockJob.objects.filter(transactions=row.pk).values("pk")
        look_now(BlockJob.objects.filter(pk__in=jobs))
        SentTransaction.objects.filter(pk=row.pk, settled=True).update(
            settled=False,
            final=False,
            sent=None,
            doubted=None,
            nonce_used=None,
            mined_hash="",
            mined_block=None,
            succeeded=None,
            gas_used=None,
        )
        named = Query.objects.filter(Q(header_transaction=row) | Q(account_transaction=row))
        proven = named.filter(values__isnull=False).order_by("pk")
        keys = list(proven.select_for_update().values_list("pk", flat=True))
        for start in range(0, len(keys), AT_ONCE):
            Query.objects.filter(pk__in=keys[start : start + AT_ONCE]).update(ended=False)
