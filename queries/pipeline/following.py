"""What becomes of transactions that were sent: they are followed until they can no longer change.

Several jobs may follow one transaction, each in another worker's hands; so what is written of it
is what its chain says, or guarded by what was there before.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from queries.chain.destination import Fees
from queries.chain.errors import FeesTooHigh, TransactionRefused
from queries.chain.signed_parts import SignedParts, parts_of
from queries.durable import durably
from queries.models import BlockJob, Query, SentHash, SentTransaction
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import settle_costs
from queries.pipeline.lane import Lane

SENT_AGAIN_AFTER = timedelta(seconds=15)
REPLACED_AFTER = timedelta(seconds=60)
GIVEN_UP_AFTER = timedelta(seconds=60)  # where every node says that it never takes it

log = logging.getLogger("tacitus.prover")

OF_THE_RECEIPT = ["mined_hash", "mined_block", "succeeded", "gas_used", "gas_price", "data_fee"]


def unsettled(job: BlockJob) -> list[SentTransaction]:
    return list(job.transactions.filter(settled=False).order_by("nonce"))


def look_after(lane: Lane, rows: Iterable[SentTransaction], depth: int) -> bool:
    """What became of each; whether any is still on its way."""
    head = lane.destination.head().number
    waiting = False
    for row in rows:
        _look(lane, row)
        if row.mined_block is None:
            _send_again(lane, row)
            waiting = waiting or not row.settled
        elif row.mined_block + depth - 1 <= head:
            settle_costs(row, free=lane.destination.chain.free)
    return waiting


def _look(lane: Lane, row: SentTransaction) -> None:
    """Note where it was mined, or that it no longer is."""
    before = [getattr(row, name) for name in OF_THE_RECEIPT]
    for transaction_hash in row.hashes:
        mined = lane.destination.mined(transaction_hash)
        if mined is not None:
            row.mined_hash, row.mined_block = transaction_hash, mined.block
            row.succeeded, row.gas_used = mined.succeeded, mined.gas_used
            row.gas_price = f"{mined.gas_price:064x}"
            row.data_fee = f"{mined.data_fee:064x}"
            break
    else:
        if row.mined_block is not None:
            row.sent = None  # reorganised away: it is sent again at once
        row.mined_hash, row.mined_block, row.succeeded, row.gas_used = "", None, None, None
    if [getattr(row, name) for name in OF_THE_RECEIPT] != before:
        row.save(update_fields=[*OF_THE_RECEIPT, "sent"])


def _send_again(lane: Lane, row: SentTransaction) -> None:
    now = shared_now()
    if row.sent is not None and now < row.sent + SENT_AGAIN_AFTER:
        return
    if row.sent is not None and now >= row.signed + REPLACED_AFTER * len(row.hashes):
        _replace(lane, row)
    try:
        lane.send(row)
    except TransactionRefused:
        if now < row.signed + GIVEN_UP_AFTER or not parts_of(bytes.fromhex(row.raw)).data:
            raise
        _give_up(lane, row)
        lane.send(row)


def _replace(lane: Lane, row: SentTransaction) -> None:
    """The same call at a higher fee; whichever of them is mined, it is mined once."""
    if row.sender != lane.signer.address:
        return  # of a key that was in use before: under this one it would take another's nonce
    try:
        now = lane.destination.fees()
    except FeesTooHigh:
        return  # as below
    was_dearest = int(row.max_fee, 16)
    dearest = max(now.dearest, was_dearest * 9 // 8 + 1)  # what pools take for it
    if dearest > lane.destination.chain.dearest_gas:
        return  # it waits until gas is as cheap as the operator wants it
    fees = Fees(dearest, min(max(now.priority * 9 // 8, dearest // 8), dearest))
    most = int(row.most, 16) * dearest // max(was_dearest, 1)
    _sign_anew(lane, row, parts_of(bytes.fromhex(row.raw)), fees, most)


def _give_up(lane: Lane, row: SentTransaction) -> None:
    """An empty one takes the nonce of one that no node takes: all that come after wait for it.

    Whoever waited for it was told that it was refused, or has it signed anew.
    """
    if row.sender != lane.signer.address:
        return
    log.error("No node takes the transaction with nonce %s: an empty one takes it.", row.nonce)
    was, dearest = parts_of(bytes.fromhex(row.raw)), int(row.max_fee, 16)
    gas = lane.destination.gas_needed(row.sender, row.sender, b"")
    empty = replace(was, to=row.sender, data=b"", gas_limit=gas)
    _sign_anew(lane, row, empty, Fees(dearest, dearest // 8), int(row.most, 16))
    row.for_jobs.update(proves_header=False, stone=None)
    Query.objects.filter(header_transaction=row).update(header_transaction=None)
    Query.objects.filter(account_transaction=row).update(account_transaction=None)


def _sign_anew(lane: Lane, row: SentTransaction, call: SignedParts, fees: Fees, most: int) -> None:
    signed = lane.signer.sign(call.chain_id, call.nonce, call.to, call.data, call.gas_limit, fees)
    before = row.raw
    row.raw, row.hashes = signed.raw.hex(), [*row.hashes, signed.hash]
    row.max_fee, row.most = f"{fees.dearest:064x}", f"{most:064x}"
    with durably():
        ours = SentTransaction.objects.filter(pk=row.pk, raw=before).update(
            raw=row.raw, hashes=row.hashes, max_fee=row.max_fee, most=row.most
        )
        if ours:
            SentHash.objects.create(transaction=row, hash=signed.hash)
    if not ours:  # another worker has just replaced it: that one is sent
        row.refresh_from_db()
