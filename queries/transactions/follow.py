"""Follow sent transactions: send them again, and read their receipts until they are confirmed."""

import logging
from collections.abc import Iterable
from datetime import timedelta

from queries.chain.client import ChainClient
from queries.chain.errors import NodesRefuseError, NoQuorumError
from queries.chain.signer import decode_transaction
from queries.database.clock import shared_now
from queries.models import BlockJob, SentTransaction
from queries.transactions.lane import PERMANENT_SEND_ERRORS, Lane
from queries.transactions.receipts import NOT_MINED, receipt_by_quorum, store_receipt
from queries.transactions.replacements import cancel, replace_or_fill_gap
from queries.transactions.shares import charge_batches

log = logging.getLogger("tacitus.prover")


def unconfirmed_transactions(job: BlockJob) -> list[SentTransaction]:
    return list(job.transactions.filter(confirmed=False).order_by("nonce"))


def follow(lane: Lane, rows: Iterable[SentTransaction], head: int) -> bool:
    """Follow these transactions up to block `head`. True if any of them is pending.

    A failed one is pending until it is confirmed: otherwise its proofs would be sent again on one
    node's answer.
    """
    is_pending, errors = False, list[Exception]()
    deep_block = head - lane.destination.chain.depth + 1
    for row in rows:
        previous_block = row.mined_block
        try:
            _read_receipt(lane, row, head)
            if row.mined_block is None:
                _rebroadcast(lane, row, is_undone=previous_block is not None)
            # One node may make up a receipt. If its block changes, do not wait for the depth.
            elif previous_block not in {None, row.mined_block} or row.mined_block <= deep_block:
                _confirm(lane, row)
        except (NoQuorumError, *PERMANENT_SEND_ERRORS) as error:
            errors.append(error)  # about this transaction: follow the others
        is_pending = is_pending or not (row.confirmed or row.succeeded)
    if errors:
        raise errors[0]
    return is_pending


def _read_receipt(lane: Lane, row: SentTransaction, head: int) -> None:
    """Store the receipt of whichever hash was mined, or clear it."""
    previous = row.mined_hash, row.mined_block, row.succeeded
    for transaction_hash in row.hashes:
        receipt = lane.destination.receipt(transaction_hash)
        if receipt and receipt.block > head:
            return  # this node is ahead of the one that reported the head
        if receipt and receipt.gas_used <= row.gas_limit:
            row.mined_hash, row.mined_block = transaction_hash, receipt.block
            row.succeeded, row.gas_used = receipt.succeeded, receipt.gas_used
            # At most what was signed, whatever one node says.
            row.gas_price = f"{min(receipt.gas_price, int(row.max_fee, 16)):064x}"
            row.data_fee = f"{receipt.data_fee:064x}"
            row.nonce_used_block = None
            break
    else:
        for name, value in NOT_MINED.items():
            setattr(row, name, value)
    if previous != (row.mined_hash, row.mined_block, row.succeeded):
        store_receipt(row)


def _rebroadcast(lane: Lane, row: SentTransaction, *, is_undone: bool) -> None:
    """Send an unmined transaction to all nodes again: at a higher fee if it is stuck, and at once
    if a reorg undid it.
    """
    now, limits = shared_now(), lane.limits
    resend_after = timedelta(seconds=limits.resend_after)
    if row.sent_at is not None and now < row.sent_at + resend_after and not is_undone:
        return
    seconds_waited = (now - (row.replaced_at or row.signed_at)).total_seconds()
    is_own = row.sender == lane.signer.address
    is_stuck = is_own and seconds_waited >= limits.replace_after
    if not is_own and seconds_waited >= limits.abandon_after:
        log.error(
            "Abandoning nonce %s of former signer %s on chain %s.", row.nonce, row.sender, row.chain
        )
        lane.give_up(row)
        return
    was_sent = row.sent_at is not None
    if is_stuck and was_sent:
        replace_or_fill_gap(lane, row)
        if row.confirmed:
            return
    lane.destination.broadcast(row.raw)  # the first node may not have passed it on
    try:
        lane.send(row)
    except PERMANENT_SEND_ERRORS as error:
        is_outage = was_sent and isinstance(error, NodesRefuseError)
        is_empty = not decode_transaction(row.raw).data
        if is_outage or is_empty or not is_stuck or _is_accepted_by_quorum(lane, row):
            raise
        cancel(lane, row, str(error))


def _is_accepted_by_quorum(lane: Lane, row: SentTransaction) -> bool:
    """Send it to a quorum of nodes. Returns whether they accept it."""
    return lane.destination.ask_quorum(_accepts, row.raw)


def _accepts(node: ChainClient, raw: bytes) -> bool:
    try:
        node.send(raw)
    except PERMANENT_SEND_ERRORS:
        return False
    return True


def _confirm(lane: Lane, row: SentTransaction) -> None:
    """Confirm it if a quorum sees it deep enough; its cost and its proofs count from then on.

    Prices are left out, because honest nodes of an OP-stack chain disagree about them.
    """
    stored = row.mined_block, row.succeeded, row.gas_used
    chain = lane.destination.chain
    if receipt_by_quorum(lane.destination, row, chain.depth) != stored:
        raise NoQuorumError.create(chain.name)  # the retry asks another node first
    charge_batches(row, free=chain.free)
