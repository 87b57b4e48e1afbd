"""Notice reorgs of the destination, and reopen the confirmed transactions that they removed.

Before a transaction is confirmed, `follow` notices a reorg by the missing receipt.
"""

import logging
from contextlib import suppress

from django.db import transaction
from django.db.models import Exists, F, OuterRef

from queries.chain import ChainClient, NoQuorumError, TransactionReceipt
from queries.config.limits import ROWS_PER_PASS
from queries.database.clock import shared_now
from queries.database.leases import make_due
from queries.models import BlockJob, JobTransaction, SentTransaction
from queries.transactions.costs import (
    NOT_MINED,
    cheapest_receipt,
    close_and_charge,
    count_final_cost,
    set_receipt,
)
from queries.transactions.lane import Lane
from queries.transitions import reopen_deliveries, reopen_queries

log = logging.getLogger("tacitus.prover")


def reopen_undone_rows(lane: Lane) -> None:
    """Reopen confirmed transactions that a reorg removed before their blocks were final."""
    # Nonces are mined in order: if the last one has its receipt, those before it have theirs.
    rows = lane.own_rows.filter(confirmed=True, final=False).exclude(mined_block=None)
    for row in rows.order_by("-nonce").defer("raw")[:ROWS_PER_PASS]:
        receipt = lane.destination.receipt(row.mined_hash)
        if (receipt and receipt.succeeded == row.succeeded) or not is_undone(lane, row):
            return
        reopen(row)


def finalize_or_reopen(lane: Lane) -> None:
    """Mark transactions of final blocks as final and count their cost; reopen undone ones.

    If a reorg mined a transaction again, in another block or at another price, charge it again.
    """
    rows = SentTransaction.objects.filter(chain=lane.chain_id, confirmed=True, final=False)
    if not rows.exclude(mined_block=None).exists():
        return
    final_rows = rows.filter(mined_block__lte=lane.destination.head().final_number)
    order = F("last_final_check").asc(nulls_first=True), "mined_block"
    rows_to_check = list(final_rows.order_by(*order).defer("raw")[:ROWS_PER_PASS])
    last_block = max((row.mined_block or 0 for row in rows_to_check), default=0)

    def has_finalized(node: ChainClient) -> bool:
        return node.head().final_number >= last_block

    if not rows_to_check or not lane.destination.ask_quorum(has_finalized):
        return
    for row in rows_to_check:
        # Stored first: a row that cannot be checked goes behind the others.
        rows.filter(pk=row.pk).update(last_final_check=shared_now())
        with suppress(NoQuorumError):  # about this transaction: check the others
            receipt = _fetch_receipt_by_quorum(lane, row)
            if receipt is None or receipt.succeeded != row.succeeded:
                reopen(row)
                continue
            if set_receipt(row, receipt):
                _charge_again(lane, row)
            if receipt.block <= last_block:  # otherwise it may not be final yet
                count_final_cost(row)


def is_undone(lane: Lane, row: SentTransaction) -> bool:
    """Whether, by quorum, the transaction is no longer mined, or its status has changed."""
    receipt = _fetch_receipt_by_quorum(lane, row)
    return receipt is None or receipt.succeeded != row.succeeded


def has_left_its_block(lane: Lane, row: SentTransaction) -> bool:
    """Whether, by quorum, a reorg removed the transaction from the block in which it was mined.

    If it was confirmed, reopen it, or charge it again if it is in another block.
    """
    receipt = _fetch_receipt_by_quorum(lane, row)
    if receipt and (receipt.block, receipt.succeeded) == (row.mined_block, row.succeeded):
        return False
    if row.confirmed:  # otherwise the next pass follows it
        if receipt is None or receipt.succeeded != row.succeeded:
            reopen(row)
        elif set_receipt(row, receipt):
            _charge_again(lane, row)
    return True


def _charge_again(lane: Lane, row: SentTransaction) -> None:
    log.warning("The receipt of %s has changed: charging it again.", row.mined_hash)
    close_and_charge(row, free=lane.destination.chain.free)


def _fetch_receipt_by_quorum(lane: Lane, row: SentTransaction) -> TransactionReceipt | None:
    return cheapest_receipt(
        lane.destination.poll(ChainClient.receipt, row.mined_hash).equal_answers()
    )


def reopen(row: SentTransaction) -> None:
    """Mark the transaction as unsent, so that it is sent again; reopen its jobs' proven queries."""
    cause = f"a reorg removed {row.mined_hash}" if row.mined_hash else "it is unused"
    log.error("Reopening nonce %s of chain %s: %s.", row.nonce, row.chain, cause)
    with transaction.atomic():
        jobs = BlockJob.objects.filter(pk__in=row.jobs.values("pk"))
        list(jobs.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        SentTransaction.objects.filter(pk=row.pk, confirmed=True).update(
            confirmed=False, final=False, sent_at=None, nonce_used_block=None, **NOT_MINED
        )
        # Not for pieces that are in a later transaction by now.
        links = JobTransaction.objects.filter(open=True)
        later_links = links.filter(job=OuterRef("job"), pieces_digest=OuterRef("pieces_digest"))
        row.job_links.filter(~Exists(later_links)).update(open=True)
        if row.mined_hash:  # otherwise it was given up, and had proven nothing
            reopen_queries(jobs)
        make_due(jobs)
        reopen_deliveries(row)
