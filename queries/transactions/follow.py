"""Follow sent transactions: read their receipts until they are confirmed, and send unmined ones
again.

A stuck transaction is replaced by one with the same nonce and a higher fee, so only one of the two
is mined. A transaction that nodes refuse is replaced with an empty transfer, because all later
nonces wait for its own.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError

from queries.chain import (
    ChainClient,
    Fees,
    FeesTooHighError,
    NodesRefuseError,
    NoQuorumError,
    Poll,
    TransactionReceipt,
    UnsignedTransaction,
    decode_transaction,
)
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.models import BlockJob, SentHash, SentTransaction
from queries.transactions.costs import (
    NOT_MINED,
    cheapest_receipt,
    close_and_charge,
    set_receipt,
    store_receipt,
)
from queries.transactions.destination_reorgs import reopen
from queries.transactions.lane import PERMANENT_SEND_ERRORS, Lane

log = logging.getLogger("tacitus.prover")


class NodeReceipt(NamedTuple):
    """A node's receipt of a transaction; a quorum has to agree on it."""

    receipt: TransactionReceipt
    is_deep: bool  # has enough confirmations, both by our head and by the node's own


ReceiptPoll = Poll[NodeReceipt | None]


def _fetch_node_receipt(
    node: ChainClient, transaction_hash: str, *, head: int
) -> NodeReceipt | None:
    receipt = node.receipt(transaction_hash)
    if receipt is None:
        return None
    is_deep_for_us = (
        receipt.block <= head - node.chain.depth + 1
    )  # if not, the node's own head is not needed
    is_deep = is_deep_for_us and receipt.block <= node.confirmed_block(head)
    return NodeReceipt(receipt, is_deep)


def unconfirmed_transactions(job: BlockJob) -> list[SentTransaction]:
    return list(job.transactions.filter(confirmed=False).order_by("nonce"))


def follow(lane: Lane, rows: Iterable[SentTransaction], head: int) -> bool:
    """Follow these transactions up to block `head`. Returns whether any of them is pending.

    A failed one is pending until it is confirmed: otherwise its proofs would be sent again on one
    node's answer. Raises the first error about one of them after following the others.
    """
    is_pending, errors = False, list[Exception]()
    confirmed_block = head - lane.destination.chain.depth + 1
    for row in rows:
        previous_block = row.mined_block
        try:
            poll = _update_receipt(lane, row, head)
            if row.mined_block is None:
                _handle_unmined(lane, row, is_undone=previous_block is not None)
            # A receipt that moves to another block may be made up by one node: ask the quorum at
            # once, not only at the depth.
            elif poll and (
                previous_block not in {None, row.mined_block} or row.mined_block <= confirmed_block
            ):
                _confirm(lane, row, poll)
        except (NoQuorumError, *PERMANENT_SEND_ERRORS) as error:
            errors.append(error)  # about this transaction: follow the others
        is_pending = is_pending or not (row.confirmed or row.succeeded)
    if errors:
        raise errors[0]
    return is_pending


def _update_receipt(lane: Lane, row: SentTransaction, head: int) -> ReceiptPoll | None:
    """Store one node's receipt of the hash that was mined, or clear it. Returns the poll that found
    it, for `_confirm`.
    """
    previous = row.mined_hash, row.mined_block, row.succeeded
    mined_poll = None
    for transaction_hash in row.hashes:
        poll = lane.destination.poll(_fetch_node_receipt, transaction_hash, head=head)
        receipt = answer.receipt if (answer := poll.first()) else None
        if receipt and receipt.block > head:
            return None  # this node is ahead of the one that reported the head
        if receipt and receipt.gas_used <= row.gas_limit:
            mined_poll, row.mined_hash, row.nonce_used_block = poll, transaction_hash, None
            set_receipt(row, receipt)
            break
    else:
        for name, value in NOT_MINED.items():
            setattr(row, name, value)
    if previous != (row.mined_hash, row.mined_block, row.succeeded):
        store_receipt(row)
    return mined_poll


def _confirm(lane: Lane, row: SentTransaction, poll: ReceiptPoll) -> None:
    """Confirm the transaction if a quorum sees it deep enough; its cost and proofs count then.

    Raises `NoQuorumError` otherwise.
    """
    chain, answers = lane.destination.chain, poll.equal_answers()
    receipt = cheapest_receipt(answer.receipt for answer in answers if answer and answer.is_deep)
    if receipt is None:
        raise NoQuorumError.create(chain.name)  # the retry asks another node first
    set_receipt(row, receipt)
    close_and_charge(row, free=chain.free)


def _handle_unmined(lane: Lane, row: SentTransaction, *, is_undone: bool) -> None:
    """Send an unmined transaction to all nodes again: at a higher fee if it is stuck, and at once
    if a reorg undid it. Abandon that of a former signer, and cancel one that nodes refuse. If the
    lane is stopped, sign nothing.
    """
    now, limits = shared_now(), lane.limits
    resend_after = timedelta(seconds=limits.resend_after)
    if row.sent_at is not None and now < row.sent_at + resend_after and not is_undone:
        return
    seconds_waited = (now - (row.replaced_at or row.signed_at)).total_seconds()
    is_own = row.sender == lane.signer.address
    is_stuck = is_own and seconds_waited >= limits.replace_after and not lane.is_stopped
    if not is_own and seconds_waited >= limits.abandon_after:
        log.error(
            "Abandoning nonce %s of former signer %s on chain %s.", row.nonce, row.sender, row.chain
        )
        row.nonce_used_block = None  # whether the nonce is used does not matter any more
        lane.give_up(row)
        return
    was_sent = row.sent_at is not None
    if is_stuck and was_sent:
        _replace_or_fill_gap(lane, row)
        if row.confirmed:
            return
    lane.destination.broadcast(row.raw)  # the first node may not have passed it on
    try:
        lane.send(row)
    except PERMANENT_SEND_ERRORS as error:
        is_outage = was_sent and isinstance(error, NodesRefuseError)
        is_empty = not decode_transaction(row.raw).data
        if is_outage or is_empty or not is_stuck:
            raise
        if _send_to_quorum(lane, row):
            raise
        _cancel(lane, row, str(error))


def _send_to_quorum(lane: Lane, row: SentTransaction) -> bool:
    """Send it to a quorum of nodes. Returns whether they accept it."""

    def send(node: ChainClient, raw: bytes) -> bool:
        try:
            node.send(raw)
        except PERMANENT_SEND_ERRORS:
            return False
        return True

    return lane.destination.ask_quorum(send, row.raw)


def _replace_or_fill_gap(lane: Lane, row: SentTransaction) -> None:
    """Replace the transaction if its nonce is the next one; later ones only wait for that nonce."""
    try:
        transaction_count = lane.transaction_count_by_quorum()
    except NoQuorumError:
        return  # send it again unchanged
    if transaction_count == row.nonce:
        _raise_fee(lane, row)
    elif transaction_count < row.nonce:
        _fill_gap(lane, transaction_count, row)
    else:  # the nonce is used, but the node has no receipt
        lane.give_up_if_nonce_used(row)


def _raise_fee(lane: Lane, row: SentTransaction) -> None:
    """Sign the same call at a higher fee, within the operator's maximum. The operator pays what the
    fees of its batches do not cover.
    """
    transaction = decode_transaction(row.raw)
    try:
        fees = _replacement_fees(transaction.fees, lane.destination.fees())
    except FeesTooHighError:
        return  # wait until gas is cheaper
    if fees.max_fee <= lane.destination.chain.max_gas_price:
        _sign_again(lane, row, replace(transaction, fees=fees))


def _cancel(lane: Lane, row: SentTransaction, cause: str) -> None:
    """Replace it with an empty transfer. Another transaction will prove its pieces."""
    log.error("Cancelling nonce %s of chain %s: %s", row.nonce, row.chain, cause)
    max_price = lane.destination.chain.max_gas_price
    fees = _replacement_fees(decode_transaction(row.raw).fees, Fees(0, 0))
    capped_fees = Fees(min(fees.max_fee, max_price), min(fees.tip, max_price))
    transaction = _empty_transfer(lane, row.nonce, capped_fees)
    with durable_transaction():
        if _sign_again(lane, row, transaction):
            row.job_links.update(proves_header=False, open=False)


def _fill_gap(lane: Lane, nonce: int, blocked_row: SentTransaction) -> None:
    """Use the next nonce: send an empty transfer if no row has it, or reopen its row if that was
    confirmed or given up.
    """
    row = lane.own_rows.filter(nonce=nonce).first()
    if row is not None:
        if not row.confirmed:
            return
        was_given_up = not row.mined_hash
        reopen(row)
        if was_given_up:  # other transactions have proven its pieces since
            row.refresh_from_db()
            _cancel(lane, row, "it was given up")
        return
    log.error(
        "Nonce %s of chain %s was skipped; filling it with an empty transfer.", nonce, lane.chain_id
    )
    max_fee = int(blocked_row.max_fee, 16)
    transaction = _empty_transfer(lane, nonce, Fees(max_fee, max_fee // 8))
    try:
        with durable_transaction():
            filler = lane.sign_and_store(transaction, transaction.gas_limit * max_fee)
            filler.jobs.set(blocked_row.jobs.order_by("pk"))
    except IntegrityError:  # another worker has used the nonce
        return
    lane.send(filler)


def _empty_transfer(lane: Lane, nonce: int, fees: Fees) -> UnsignedTransaction:
    sender = lane.signer.address
    gas = lane.destination.estimate_gas(sender, sender, b"")
    return UnsignedTransaction(lane.chain_id, nonce, sender, b"", gas, fees)


def _sign_again(lane: Lane, row: SentTransaction, transaction: UnsignedTransaction) -> bool:
    """Sign the call and store it in place of the row's transaction. Returns False if another worker
    replaced or confirmed the row first.
    """
    signed_transaction, max_fee = lane.signer.sign(transaction), transaction.fees.max_fee
    cost = int(row.max_cost, 16) * max_fee // max(int(row.max_fee, 16), 1)
    with durable_transaction():
        unchanged_rows = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, confirmed=False)
        is_stored = unchanged_rows.update(
            to=transaction.to,
            raw=signed_transaction.raw,
            hashes=[*row.hashes, signed_transaction.hash],
            gas_limit=max(row.gas_limit, transaction.gas_limit),  # either may be mined
            max_fee=f"{max_fee:064x}",
            max_cost=f"{cost:064x}",
            replaced_at=shared_now(),
        )
        if is_stored:
            SentHash.objects.create(transaction=row, hash=signed_transaction.hash)
    row.refresh_from_db()
    return bool(is_stored)


def _replacement_fees(signed_fees: Fees, current_fees: Fees) -> Fees:
    """Fees that pools accept for a replacement: both at least an eighth higher."""
    max_fee = max(current_fees.max_fee, signed_fees.max_fee * 9 // 8 + 1)
    tip = max(current_fees.tip, signed_fees.tip * 9 // 8 + 1, max_fee // 8)
    return Fees(max_fee, min(tip, max_fee))
