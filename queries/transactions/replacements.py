"""Replace stuck transactions; `follow` says when one is stuck.

A replacement has the same nonce and a higher fee, so only one of the two is mined. A transaction
that nodes refuse is replaced with an empty transfer, because all later nonces wait for its own.
"""

import logging
from dataclasses import replace

from django.db import IntegrityError

from queries.chain.errors import FeesTooHighError, NoQuorumError
from queries.chain.signer import Fees, UnsignedTransaction, decode_transaction
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.models import SentHash, SentTransaction
from queries.transactions.destination_reorgs import reopen
from queries.transactions.lane import Lane

log = logging.getLogger("tacitus.prover")


def replace_or_fill_gap(lane: Lane, row: SentTransaction) -> None:
    """Replace the transaction if its nonce is the next one; later ones only wait for that nonce."""
    try:
        transaction_count = lane.transaction_count_by_quorum()
    except NoQuorumError:
        return  # send it again unchanged
    if transaction_count == row.nonce:
        _raise_fee(lane, row)
    elif transaction_count < row.nonce:
        _fill_gap(lane, transaction_count, row)
    else:  # the node shows no receipt, but accepted the transaction again
        lane.check_used_nonce(row)


def _raise_fee(lane: Lane, row: SentTransaction) -> None:
    """Sign the same call at a higher fee, within the operator's maximum. The operator pays what the
    fees of its batches do not cover.
    """
    call = decode_transaction(row.raw)
    try:
        fees = _replacement_fees(call.fees, lane.destination.fees())
    except FeesTooHighError:
        return  # wait until gas is cheaper
    if fees.max_fee <= lane.destination.chain.max_gas_price:
        _sign_again(lane, row, replace(call, fees=fees))


def cancel(lane: Lane, row: SentTransaction, cause: str) -> None:
    """Replace it with an empty transfer. Another transaction will prove its pieces."""
    log.error("Cancelling nonce %s of chain %s: %s", row.nonce, row.chain, cause)
    max_price = lane.destination.chain.max_gas_price
    fees = _replacement_fees(decode_transaction(row.raw).fees, Fees(0, 0))
    capped_fees = Fees(min(fees.max_fee, max_price), min(fees.tip, max_price))
    call = _empty_transfer(lane, row.nonce, capped_fees)
    with durable_transaction():
        if _sign_again(lane, row, call):
            row.job_links.update(proves_header=False, open=False)


def _fill_gap(lane: Lane, nonce: int, later: SentTransaction) -> None:
    """Use the next nonce: by an empty transfer if no row has it; otherwise reopen its row if that
    was confirmed or given up.
    """
    row = lane.own_rows.filter(nonce=nonce).first()
    if row is not None:
        if not row.confirmed:
            return
        was_given_up = not row.mined_hash
        reopen(row)
        if was_given_up:  # other transactions have proven its pieces since
            row.refresh_from_db()
            cancel(lane, row, "it was given up")
        return
    log.error(
        "Nonce %s of chain %s was skipped; filling it with an empty transfer.", nonce, lane.chain_id
    )
    max_fee = int(later.max_fee, 16)
    call = _empty_transfer(lane, nonce, Fees(max_fee, max_fee // 8))
    try:
        with durable_transaction():
            filler = lane.store_row(call, call.gas_limit * max_fee)
            filler.jobs.set(later.jobs.order_by("pk"))
    except IntegrityError:  # another worker has taken the nonce
        return
    lane.send(filler)


def _empty_transfer(lane: Lane, nonce: int, fees: Fees) -> UnsignedTransaction:
    sender = lane.signer.address
    gas = lane.destination.estimate_gas(sender, sender, b"")
    return UnsignedTransaction(lane.chain_id, nonce, sender, b"", gas, fees)


def _sign_again(lane: Lane, row: SentTransaction, call: UnsignedTransaction) -> bool:
    """Returns False if another worker has just replaced or confirmed it."""
    signed, max_fee = lane.signer.sign(call), call.fees.max_fee
    cost = int(row.max_cost, 16) * max_fee // max(int(row.max_fee, 16), 1)
    with durable_transaction():
        unchanged = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, confirmed=False)
        is_stored = unchanged.update(
            to=call.to,
            raw=signed.raw,
            hashes=[*row.hashes, signed.hash],
            gas_limit=max(row.gas_limit, call.gas_limit),  # either may be mined
            max_fee=f"{max_fee:064x}",
            max_cost=f"{cost:064x}",
            replaced_at=shared_now(),
        )
        if is_stored:
            SentHash.objects.create(transaction=row, hash=signed.hash)
    row.refresh_from_db()
    return bool(is_stored)


def _replacement_fees(signed: Fees, current: Fees) -> Fees:
    """Fees that pools accept for a replacement: both at least an eighth higher."""
    max_fee = max(current.max_fee, signed.max_fee * 9 // 8 + 1)
    tip = max(current.tip, signed.tip * 9 // 8 + 1, max_fee // 8)
    return Fees(max_fee, min(tip, max_fee))
