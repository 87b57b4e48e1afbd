"""What becomes of transactions that were sent: they are followed until they can no longer change.

Several jobs may follow one transaction, each in another worker's hands; so what is written of it
is guarded by what was there before, and nothing is written of one that is settled.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from django.db import IntegrityError
from django.db.models import Q

from queries.chain.destination import Fees
from queries.chain.errors import (
    CallReverted,
    FeesTooHigh,
    InsufficientFunds,
    NodesRefuse,
    TransactionRefused,
)
from queries.chain.nodes import ENOUGH_NODES
from queries.chain.one_transaction import MOST_GAS
from queries.chain.receipts import Mined
from queries.chain.second_words import Vote
from queries.chain.signed_parts import SignedParts, parts_of
from queries.durable import durably
from queries.models import BlockJob, Query, SentHash, SentTransaction
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import note_receipt, settle_costs, still_cover
from queries.pipeline.day import is_spent
from queries.pipeline.gas_prices import note, note_in_its_block
from queries.pipeline.lane import Lane
from queries.pipeline.mined import FURTHEST_BEHIND, bounds_of
from queries.pipeline.offers import Need
from queries.pipeline.undone import is_undone, reopen

SENT_AGAIN_AFTER = timedelta(seconds=15)
REPLACED_AFTER = timedelta(seconds=60)
GIVEN_UP_AFTER = timedelta(seconds=60)  # where every node says that it never takes it
# Where nodes do not agree on a receipt: one that is stuck would hold up its costs for ever.
AGREED_WITHIN = timedelta(minutes=2)
MOST_FILLED = 16  # nonces that empty transactions take
LEFT_BEHIND_AFTER = FURTHEST_BEHIND  # where a nonce before its own is nobody's

log = logging.getLogger("tacitus.prover")

OF_THE_RECEIPT = (
    "mined_hash", "mined_block", "succeeded", "gas_used", "gas_price", "data_fee", "nonce_used"
)  # fmt: skip


def unsettled(job: BlockJob) -> list[SentTransaction]:
    return list(job.transactions.filter(settled=False).order_by("nonce"))


def look_after(lane: Lane, rows: Iterable[SentTransaction], depth: int, head: int) -> bool:
    """What became of each; whether any is still on its way. `head`: a block that there is.

    One that failed is until it is settled: else what it did not prove would be sent once more for
    the word of one node.
    """
    waiting = False
    for row in rows:
        mined = _look(lane, row, head)
        if row.settled:
            continue
        if mined is not None and mined.block > head:
            _send_to_each(lane, row)
            waiting = True
        elif mined is None or row.mined_block is None:
            _send_again(lane, row)
            waiting = waiting or not row.settled
        elif row.mined_block + depth - 1 <= head:
            _settle(lane, row, head - depth + 1)
            waiting = waiting or not row.settled
        else:
            waiting = waiting or not row.succeeded
    return waiting


def _settle(lane: Lane, row: SentTransaction, deep: int) -> None:
    """By a receipt of a block that is shown, which may be another node's than the one so far."""
    shown = lane.destination.mined_in_its_block(row.mined_hash, bounds_of(row))
    if shown is None or shown.mined.block > deep:
        lane.destination.ask_another_first()  # nodes do not agree: it is looked at again
        return
    vote = lane.second_words.vote_on(row.mined_hash, shown.mined, bounds_of(row))
    if vote is not Vote.AGREED:
        _send_to_each(lane, row)
        lane.destination.ask_another_first()
        if vote is Vote.OUTVOTED:
            _doubt_no_more(row)  # two agree, on something else
            return
        if not _doubted_long(row):
            return
    note_in_its_block(row, shown)
    settle_costs(row, free=lane.destination.chain.free)
    if not row.succeeded:
        lane.destination.ask_another_first()  # the one that had it sent may have said it succeeds


def _doubted_long(row: SentTransaction) -> bool:
    """From the first time on; so what was on its way for long is not settled the sooner."""
    now = shared_now()
    if row.doubted is None:
        row.doubted = now
        unsettled = SentTransaction.objects.filter(pk=row.pk, settled=False)
        unsettled.filter(doubted=None).update(doubted=now)
    return now >= row.doubted + AGREED_WITHIN


def _doubted_no_more(lane: Lane, row: SentTransaction) -> None:
    """Where nobody says any more that it was mined."""
    if row.doubted is not None and all(map(lane.destination.is_mined_for_nobody, row.hashes)):
        _doubt_no_more(row)


def _doubt_no_more(row: SentTransaction) -> None:
    row.doubted = None
    SentTransaction.objects.filter(pk=row.pk, settled=False).update(doubted=None)


def _send_to_each(lane: Lane, row: SentTransaction) -> None:
    """Where one says that it was mined and another does not: the first one may make it up, and have
    passed nothing on.
    """
    now = shared_now()
    if row.sent is None or now >= row.sent + SENT_AGAIN_AFTER:
        lane.destination.send_to_each(row.raw)
        row.sent = now
        SentTransaction.objects.filter(pk=row.pk, settled=False).update(sent=now)


def _look(lane: Lane, row: SentTransaction, head: int) -> Mined | None:
    """Note where it was mined, or that it no longer is."""
    before = [getattr(row, name) for name in OF_THE_RECEIPT]
    mined = None
    for transaction_hash in row.hashes:
        mined = lane.destination.mined(transaction_hash, bounds_of(row))
        if mined is not None and mined.block > head:
            # Not noted: the one that told of the head is behind, or this one makes it up. Then no
            # node would be far enough to be asked anything.
            return mined
        if mined is not None:
            note(row, transaction_hash, mined)
            row.nonce_used = None
            break
    else:
        if row.mined_block is not None:
            row.sent = None  # reorganised away: it is sent again at once
        row.mined_hash, row.mined_block, row.succeeded = "", None, None
        row.gas_used, row.gas_price, row.data_fee = None, "", ""
    changed = [getattr(row, name) for name in OF_THE_RECEIPT] != before
    if changed and not note_receipt(row):
        row.refresh_from_db()
    return mined


def _send_again(lane: Lane, row: SentTransaction) -> None:
    now = shared_now()
    if row.sent is not None and now < row.sent + SENT_AGAIN_AFTER:
        return
    _doubted_no_more(lane, row)
    if row.sent is not None and now >= row.signed + LEFT_BEHIND_AFTER:
        _close_gap(lane, row)
    if row.sent is not None and now >= row.signed + REPLACED_AFTER * len(row.hashes):
        _replace(lane, row)
    is_old = now >= row.signed + LEFT_BEHIND_AFTER
    try:
        lane.send(row, by_two=not is_old)
    except (TransactionRefused, CallReverted, NodesRefuse, InsufficientFunds) as refused:
        if isinstance(refused, InsufficientFunds) and not is_old:
            raise  # whoever runs this may be about to send some
        may_pass = isinstance(refused, NodesRefuse) and not _is_it_alone(lane, row)
        if may_pass or now < row.signed + GIVEN_UP_AFTER or _is_as_empty(lane, row):
            raise
        dearest = int(row.max_fee, 16)
        _give_up(lane, row, Fees(dearest, dearest // 8), "No node takes what was signed")
        lane.send(row)


def _is_it_alone(lane: Lane, row: SentTransaction) -> bool:
    """What is refused for long, in words of no meaning to us, while others were taken: else nodes
    take none for now.
    """
    lately = shared_now() - LEFT_BEHIND_AFTER
    taken = lane.ours.exclude(pk=row.pk).filter(sent__gte=lately)
    return (row.sent or row.signed) < lately and taken.exists()


def _is_as_empty(lane: Lane, row: SentTransaction) -> bool:
    """Whether nothing else could be signed in its place; how much gas nothing takes is a node's
    word as well.
    """
    call = parts_of(row.raw)
    gas = _gas_of_nothing(lane, row)
    return not call.data and gas <= call.gas_limit <= 2 * gas


def _gas_of_nothing(lane: Lane, row: SentTransaction) -> int:
    return min(lane.destination.gas_of_nothing(row.sender), MOST_GAS)


def _close_gap(lane: Lane, row: SentTransaction) -> None:
    """Its nonce was a node's wrong word: an empty transaction takes the first that was left out.

    Where too many were left out, it does so itself: mined there, it may be mined once more under
    the nonce that it had, should all before that one ever be used.
    """
    if row.sender != lane.signer.address:
        return
    _see_to_what_was_made_up(lane, row)
    nonce = lane.left_out(lane.destination.nonce(row.sender))
    if nonce is None or nonce > row.nonce:
        return
    if row.nonce - nonce <= MOST_FILLED:
        log.error("Nobody has nonce %s: an empty transaction takes it.", nonce)
        lane.fill(nonce, row)
        return
    log.error("Nobody has nonce %s: the transaction of nonce %s takes it.", nonce, row.nonce)
    dearest = int(row.max_fee, 16)
    call = replace(parts_of(row.raw), nonce=nonce)
    try:
        _sign_anew(lane, row, call, Fees(dearest, dearest // 8), int(row.most, 16))
    except IntegrityError:  # another one has taken it
        row.refresh_from_db()


def _see_to_what_was_made_up(lane: Lane, behind: SentTransaction) -> None:
    """A node that was alone when one was settled may have made up its receipt: two say that its
    nonce is not used, and all after it wait for that.
    """
    unused = lane.destination.nonce_by_two(behind.sender)
    earlier = lane.ours.filter(nonce=unused, nonce__lt=behind.nonce)
    for row in earlier.filter(settled=True, gas_used__isnull=False):
        if is_undone(lane.destination, lane.second_words, row):
            reopen(row)


def _replace(lane: Lane, row: SentTransaction) -> None:
    """The same call at a higher fee, as far as its batches cover that; whichever of them is mined,
    it is mined once.
    """
    if row.sender != lane.signer.address:
        return  # of a key that was in use before: under this one it would take another's nonce
    call = parts_of(row.raw)
    if call.data and _waits_for_the_day(lane, row):
        return
    too_dear: dict[int, Fees] = {}  # by node
    otherwise: set[int] = set()
    for _ in lane.destination.with_each_first():  # what gas costs is a node's word
        try:
            now = lane.destination.fees()
        except FeesTooHigh:
            otherwise.add(lane.destination.answered)  # as below
            continue
        offers = _offers(lane, row, now)
        with durably():
            for each in offers:
                most = int(row.most, 16) * each.dearest // max(int(row.max_fee, 16), 1)
                if not _is_held_against(lane, call) or still_cover(row, most):
                    _sign_anew(lane, row, call, each, most)
                    return
        # Else it waits until gas is as cheap as the operator wants it.
        if offers and int(row.max_fee, 16) < now.enough:
            too_dear[lane.destination.answered] = offers[0]
        else:
            otherwise.add(lane.destination.answered)
    if _is_too_dear(lane, row, len(too_dear), len(otherwise - too_dear.keys())):
        least = min(too_dear.values(), key=lambda fees: fees.dearest)
        _give_up(lane, row, least, "Gas got dearer than its batches cover")


def _is_too_dear(lane: Lane, row: SentTransaction, saying: int, otherwise: int) -> bool:
    """By two, where there are two; or by one in the end, where no two say otherwise."""
    if saying >= min(ENOUGH_NODES, len(lane.destination.chain.nodes)):
        return True
    is_old = shared_now() >= row.signed + LEFT_BEHIND_AFTER
    return is_old and saying > 0 and otherwise < ENOUGH_NODES


def _offers(lane: Lane, row: SentTransaction, now: Fees) -> list[Fees]:
    """Those that a pool takes in its place, the dearer one first, and that the signer can pay."""
    least = int(row.max_fee, 16) * 9 // 8 + 1
    dearest = [max(each, least) for each in (now.dearest, now.enough)]
    gas = parts_of(row.raw).gas_limit
    held = lane.destination.balance_by_two(row.sender, enough=gas * dearest[0])
    # Some is left for what an L1 takes.
    bound = min(lane.destination.chain.dearest_gas, held * 9 // 10 // gas)
    return [_fees(each, now) for each in dearest if each <= bound]


def _is_held_against(lane: Lane, call: SignedParts) -> bool:
    """Not an empty one, which frees the nonce for all, against those whose call it replaced."""
    return bool(call.data) and not lane.destination.chain.free


def _waits_for_the_day(lane: Lane, row: SentTransaction) -> bool:
    """But not the first of the lane that is not mined, for which all others wait."""
    others = lane.ours.exclude(pk=row.pk)
    behind = others.filter(settled=False, mined_block=None, nonce__lt=row.nonce).exists()
    return behind and is_spent(lane.destination.chain, others)


def _fees(dearest: int, now: Fees) -> Fees:
    return Fees(dearest, min(max(now.priority * 9 // 8, dearest // 8), dearest))


def _give_up(lane: Lane, row: SentTransaction, fees: Fees, why: str) -> None:
    """An empty one takes the nonce, for which all that come after wait.

    Whoever waited for what it replaces was told, or has it signed anew.
    """
    if row.sender != lane.signer.address:
        return
    log.error("%s: an empty transaction takes nonce %s.", why, row.nonce)
    was = parts_of(row.raw)
    gas = _gas_of_nothing(lane, row)
    (data_fee,) = lane.destination.data_fees([b""])
    empty = replace(was, to=row.sender, data=b"", gas_limit=gas)
    # Not less than before: what it replaces may be mined all the same.
    most = max(int(row.most, 16), Need(gas, data_fee).most(fees))
    with durably():
        if not _sign_anew(lane, row, empty, fees, most):
            return
        row.for_jobs.update(proves_header=False, stone=None)
        named = Query.objects.filter(Q(header_transaction=row) | Q(account_transaction=row))
        list(named.order_by("pk").select_for_update().values_list("pk", flat=True))
        Query.objects.filter(header_transaction=row).update(header_transaction=None)
        Query.objects.filter(account_transaction=row).update(account_transaction=None)


def _sign_anew(lane: Lane, row: SentTransaction, call: SignedParts, fees: Fees, most: int) -> bool:
    """Whether it was this one that did: else another worker has just replaced it."""
    signed = lane.signer.sign(call.chain_id, call.nonce, call.to, call.data, call.gas_limit, fees)
    before = row.raw
    row.raw, row.hashes = signed.raw, [*row.hashes, signed.hash]
    row.max_fee, row.most, row.nonce = f"{fees.dearest:064x}", f"{most:064x}", call.nonce
    with durably():
        ours = SentTransaction.objects.filter(pk=row.pk, raw=before, settled=False).update(
            raw=row.raw, hashes=row.hashes, max_fee=row.max_fee, most=row.most, nonce=row.nonce
        )
        if ours:
            SentHash.objects.create(transaction=row, hash=signed.hash)
    if not ours:  # the other one is sent, or one was mined
        row.refresh_from_db()
    return bool(ours)
