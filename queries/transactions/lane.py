"""The transactions of one signer on one chain, from their nonce until their block is final.

SIGNED (stored, not sent) → SENT → MINED → settled, at the operator's depth → final. A row that is
mined or settled goes back to SENT when its chain undoes it. Signed bytes are stored before they are
sent, and the same bytes are sent again. A replacement keeps the nonce and raises the fee. A
transaction that nodes refuse is replaced by an empty transfer, so that no nonce is skipped.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, Max, OuterRef, QuerySet

from queries.chain.errors import (
    CallReverted,
    ChainAnswer,
    FeesTooHigh,
    InsufficientFunds,
    NodesRefuse,
    NonceUsed,
    NoQuorum,
    TransactionRefused,
    Underpriced,
)
from queries.chain.sender import Destination
from queries.chain.signer import Fees, Signer, UnsignedTransaction, parts_of
from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.database.durable import durably
from queries.database.leases import Lease, look_in_turn
from queries.models import BlockJob, Query, SentHash, SentTransaction, Share, TransactionOfJob
from queries.planning.calls import Piece
from queries.schema.batch_request import Address
from queries.statuses import ENDED, BatchStatus
from queries.transactions.budget import within_the_day
from queries.transactions.offers import Offer, check_fees
from queries.transactions.receipts import NOT_MINED, lock_costs, note_final, note_receipt
from queries.transactions.shares import lock_batches, settle_costs

log = logging.getLogger("tacitus.prover")

# Not `InsufficientFunds`: the operator may send funds. `NodesRefuse` is any text not known here.
REFUSED = (TransactionRefused, CallReverted, NodesRefuse)


class LaneBusy(Exception):  # noqa: N818
    """Another worker has sent the same pieces, or ended a paying batch: plan the job again."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One signer on one chain."""

    destination: Destination
    signer: Signer
    limits: Limits

    @property
    def chain_id(self) -> int:
        return self.destination.chain.id

    @property
    def ours(self) -> QuerySet[SentTransaction]:
        return SentTransaction.objects.filter(chain=self.chain_id, sender=self.signer.address)

    # SIGNED

    def sign_and_send(
        self,
        leases: Mapping[int, Lease[BlockJob]],
        to: str,
        offered: Sequence[Offer],
        unless: Callable[[], bool] | None = None,
    ) -> None:
        """Sign and store as long as the jobs are ours and their batches pay, then send.

        `unless`: whether another transaction does the same; asked under the chain's lock.
        """
        chain, me = self.destination.chain, self.signer.address
        funds, used = self.destination.balance(me), self._transaction_count()
        try:
            with durably():
                lock_costs(chain.id)  # no two workers may use the same nonce or budget
                if unless is not None and unless():
                    return
                going = within_the_day(chain, self.ours, offered)
                # Batches before jobs before queries, as everywhere.
                payers = lock_batches(batch for each in going for batch in each.shares)
                if any(batch.status in ENDED for batch in payers):
                    raise LaneBusy
                if not chain.free:
                    check_fees(going, payers)
                going = self._affordable_offers(going, funds)
                for _, lease in sorted(leases.items()):
                    lease.keep()
                queries = Query.objects.filter(job__in=list(leases), ended=False).order_by("pk")
                list(queries.select_for_update().values_list("pk", flat=True))
                first = max(used, self._following())
                rows = [
                    self._store(leases, nonce, to, each) for nonce, each in enumerate(going, first)
                ]
        except IntegrityError:  # a piece is in a transaction that is not settled yet
            raise LaneBusy from None
        for row in rows:
            try:
                self._send(row)
            except ChainAnswer as answer:
                # It is stored, so it is followed and sent again: nothing else proves the same.
                log.warning("Nonce %s of chain %s: %s", row.nonce, row.chain, answer)

    def _affordable_offers(self, offers: Sequence[Offer], funds: int) -> list[Offer]:
        """The first offers that the funds cover, beside the unmined transactions.

        `InsufficientFunds` if there are none.
        """
        unmined = self.ours.filter(settled=False, mined_block=None).only("gas_limit", "max_fee")
        cost, affordable = sum(row.gas_limit * int(row.max_fee, 16) for row in unmined), []
        for offer in offers:
            cost += offer.held
            if cost > funds:
                break
            affordable.append(offer)
        if not affordable:
            raise InsufficientFunds.of(self.destination.chain.name)
        return affordable

    def _following(self) -> int:
        """The nonce after our highest."""
        highest = self.ours.aggregate(Max("nonce"))["nonce__max"]
        return 0 if highest is None else int(highest) + 1

    def _transaction_count(self) -> int:
        """The chain's transaction count. By quorum if it is above our own rows, or if we have
        none: the key was used elsewhere, or the database is an older backup.
        """
        following, used = self._following(), self.destination.nonce(self.signer.address)
        return used if following and used <= following else self._used_by_quorum()

    def _used_by_quorum(self) -> int:
        me = self.signer.address
        return self.destination.quorum(lambda one: one.nonce(me), ("transaction count", me))

    def _store(
        self, leases: Mapping[int, Lease[BlockJob]], nonce: int, to: str, offer: Offer
    ) -> SentTransaction:
        pieces = offer.call.pieces
        call = UnsignedTransaction(
            self.chain_id, nonce, to, offer.call.data, offer.gas_limit, offer.fees
        )
        row = self._new_row(call, offer.most, prepares=not pieces, hops=offer.call.hops)
        Share.objects.bulk_create(
            Share(transaction=row, batch_id=batch, most=f"{wei:064x}")
            for batch, wei in offer.shares.items()
        )
        for job, lease in leases.items():
            own = [piece for piece in pieces if piece.job == job]
            if own or not pieces:
                TransactionOfJob.objects.create(
                    job=lease.row,
                    transaction=row,
                    proves_header=any(piece.accumulate for piece in own),
                    pieces=_digest(to, own),
                )
        if not pieces and offer.shares:  # evidence, for which no batch pays, is not of its steps
            waiting = Query.objects.filter(job__in=list(leases), ended=False)
            waiting.update(blockhash_transaction=row)
        for piece in pieces:
            _show_on_pages(piece, row)
        return row

    def _new_row(self, call: UnsignedTransaction, most: int, **more: int) -> SentTransaction:
        signed = self.signer.sign(call)
        row = SentTransaction.objects.create(
            chain=self.chain_id,
            sender=self.signer.address,
            nonce=call.nonce,
            to=call.to,
            raw=signed.raw,
            hashes=[signed.hash],
            max_fee=f"{call.fees.dearest:064x}",
            gas_limit=call.gas_limit,
            most=f"{most:064x}",
            **more,
            signed=shared_now(),
        )
        SentHash.objects.create(transaction=row, hash=signed.hash)
        return row

    # SENT

    def follow(self, rows: Iterable[SentTransaction], depth: int, head: int) -> bool:
        """Follow each. True if any is still on its way. `head`: our newest block.

        A failed one is pending until it is settled: otherwise its proofs would be sent
        again on one node's answer.
        """
        waiting, faults = False, list[Exception]()
        for row in rows:
            before = row.mined_block
            try:
                self._look(row, head)
                if row.mined_block is None:
                    self._push(row, is_undone=before is not None)
                # A receipt whose block changes may be made up: then it would never be deep enough.
                elif before not in {None, row.mined_block} or row.mined_block + depth - 1 <= head:
                    self._settle(row, depth)
            except (NoQuorum, *REFUSED) as fault:  # about this one: the others are followed
                faults.append(fault)
            waiting = waiting or not (row.settled or row.succeeded)
        if faults:
            raise faults[0]
        return waiting

    def _look(self, row: SentTransaction, head: int) -> None:
        """Note the receipt of any of its hashes, or that none has one."""
        before = row.mined_hash, row.mined_block, row.succeeded
        for its_hash in row.hashes:
            mined = self.destination.mined(its_hash)
            if mined and mined.block > head:
                return  # by a node that is ahead of the one that named our head
            if mined and mined.gas_used <= row.gas_limit:
                row.mined_hash, row.mined_block = its_hash, mined.block
                row.succeeded, row.gas_used = mined.succeeded, mined.gas_used
                # No more than what was signed, whatever one node says.
                row.gas_price = f"{min(mined.gas_price, int(row.max_fee, 16)):064x}"
                row.data_fee = f"{mined.data_fee:064x}"
                row.nonce_used = None
                break
        else:
            for name, value in NOT_MINED.items():
                setattr(row, name, value)
        if before != (row.mined_hash, row.mined_block, row.succeeded):
            note_receipt(row)

    def _push(self, row: SentTransaction, *, is_undone: bool) -> None:
        """Send again what is not mined: to all nodes, and at a higher fee when it has waited.

        At once if a reorg undid it.
        """
        now, resend_after = shared_now(), timedelta(seconds=self.limits.resend_after)
        if row.sent is not None and now < row.sent + resend_after and not is_undone:
            return
        waited = (now - (row.replaced or row.signed)).total_seconds()
        is_ours = row.sender == self.signer.address
        is_stuck = is_ours and waited >= self.limits.replace_after
        if not is_ours and waited >= self.limits.abandoned_after:
            log.error("Nonce %s of former signer %s is abandoned.", row.nonce, row.sender)
            self._give_up(row)
            return
        was_accepted = row.sent is not None
        if is_stuck and was_accepted:
            self._make_way(row)
            if row.settled:
                return
        self.destination.send_to_each(row.raw)  # the first node may not have passed it on
        try:
            self._send(row)
        except REFUSED as refused:
            may_pass = was_accepted and isinstance(refused, NodesRefuse)  # an outage of the node
            may_pass = may_pass or not is_stuck or not parts_of(row.raw).data
            if may_pass or not self._is_refused(row):
                raise
            self._cancel(row, str(refused))

    def _is_refused(self, row: SentTransaction) -> bool:
        """By quorum: one node alone may be wrong about it."""

        def refuses(one: Destination) -> bool:
            try:
                one.send(row.raw)
            except REFUSED:
                return True
            return False

        return self.destination.quorum(refuses, ("refused", row.hashes[-1]))

    def _send(self, row: SentTransaction) -> None:
        try:
            self.destination.send(row.raw)
        except Underpriced:
            pass  # it is replaced at a higher fee after `replace_after`
        except NonceUsed:
            self._check_used_nonce(row)
            return
        row.sent = shared_now()
        SentTransaction.objects.filter(pk=row.pk, settled=False).update(sent=row.sent)
        log.info("Sent %s to chain %s, nonce %s.", row.hashes[-1], row.chain, row.nonce)

    def _replace(self, row: SentTransaction) -> None:
        """Replace it by the same call at a higher fee, within the operator's maximum. Both have one
        nonce, so only one is mined. The operator pays what its batches' fees do not cover.
        """
        call = parts_of(row.raw)
        try:
            fees = _bumped(call.fees, self.destination.fees())
        except FeesTooHigh:
            return  # it waits until gas is as cheap as the operator wants it
        if fees.dearest <= self.destination.chain.dearest_gas:
            self._sign_again(row, replace(call, fees=fees))

    def _cancel(self, row: SentTransaction, why: str) -> None:
        """Replace it by an empty transfer, because all later nonces wait for its own. Another
        transaction proves its pieces.
        """
        log.error("An empty transaction takes nonce %s: %s", row.nonce, why)
        most, fees = self.destination.chain.dearest_gas, _bumped(parts_of(row.raw).fees, Fees(0, 0))
        fees = Fees(min(fees.dearest, most), min(fees.priority, most))
        empty = self._empty(row.nonce, fees)
        with durably():
            if self._sign_again(row, empty):
                row.for_jobs.update(proves_header=False, open=False)

    def _empty(self, nonce: int, fees: Fees) -> UnsignedTransaction:
        """A transfer of nothing to ourselves."""
        me = self.signer.address
        gas = self.destination.gas_needed(me, me, b"")
        return UnsignedTransaction(self.chain_id, nonce, me, b"", gas, fees)

    def _sign_again(self, row: SentTransaction, call: UnsignedTransaction) -> bool:
        """False if another worker has just replaced or settled it."""
        signed, dearest = self.signer.sign(call), call.fees.dearest
        most = int(row.most, 16) * dearest // max(int(row.max_fee, 16), 1)
        with durably():
            as_it_was = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, settled=False)
            is_stored = as_it_was.update(
                to=call.to,
                raw=signed.raw,
                hashes=[*row.hashes, signed.hash],
                gas_limit=max(row.gas_limit, call.gas_limit),  # either may be mined
                max_fee=f"{dearest:064x}",
                most=f"{most:064x}",
                replaced=shared_now(),
            )
            if is_stored:
                SentHash.objects.create(transaction=row, hash=signed.hash)
        row.refresh_from_db()
        return bool(is_stored)

    def _make_way(self, row: SentTransaction) -> None:
        """Only the transaction with the next nonce is replaced: those after it wait for it."""
        try:
            used = self._used_by_quorum()
        except NoQuorum:
            return  # it is sent again as it is
        if used == row.nonce:
            self._replace(row)
        elif used < row.nonce:
            self._close_gap(used, row)
        else:  # the node that was asked shows no receipt, and yet it takes the transaction again
            self._check_used_nonce(row)

    def _close_gap(self, used: int, behind: SentTransaction) -> None:
        """Use the next nonce: by an empty transfer if no row has it; if its row was settled, open
        that again.
        """
        row = self.ours.filter(nonce=used).first()
        if row is not None:
            if row.settled:
                was_given_up = not row.mined_hash
                reopen(row)
                if was_given_up:  # other transactions have proven its pieces since
                    row.refresh_from_db()
                    self._cancel(row, "it was given up")
            return
        log.error("Nonce %s is used by nothing: an empty transaction takes it.", used)
        dearest = int(behind.max_fee, 16)
        call = self._empty(used, Fees(dearest, dearest // 8))
        try:
            with durably():
                filling = self._new_row(call, call.gas_limit * dearest)
                filling.jobs.set(behind.jobs.order_by("pk"))
        except IntegrityError:  # another worker has taken it
            return
        self._send(filling)

    def _check_used_nonce(self, row: SentTransaction) -> None:
        """Either one of our hashes was mined, or the key was used elsewhere. The row is given up
        once the block at which this was first seen is final. Until then the next attempt asks
        another node, which may have the receipt.
        """
        head = self.destination.head()
        if row.nonce_used is None:
            row.nonce_used = head.number
            SentTransaction.objects.filter(pk=row.pk, settled=False).update(nonce_used=head.number)
        sender, nonce, hashes = row.sender, row.nonce, tuple(row.hashes)

        def is_gone(one: Destination) -> bool:
            return one.nonce(sender) > nonce and not any(map(one.mined, hashes))

        about = "used elsewhere", sender, nonce
        if head.final_number < row.nonce_used or not self.destination.quorum(is_gone, about):
            raise NoQuorum.of(self.destination.chain.name)
        self._give_up(row)

    def _give_up(self, row: SentTransaction) -> None:
        """It will never be mined, and costs nothing."""
        row.succeeded = False
        settle_costs(row, free=self.destination.chain.free)

    # MINED

    def _settle(self, row: SentTransaction, depth: int) -> None:
        """Settle it if a quorum sees it deep enough; its cost and its proofs count from then on.

        Prices are left out, because honest nodes of an OP-stack chain disagree about them.
        """
        noted = row.mined_block, row.succeeded, row.gas_used
        if self._end(row, depth) != noted:
            raise NoQuorum.of(self.destination.chain.name)  # another node is asked first then
        settle_costs(row, free=self.destination.chain.free)

    def _end(self, row: SentTransaction, depth: int = 0) -> tuple[int, bool, int] | None:
        its_hash = row.mined_hash

        def ended_as(one: Destination) -> tuple[int, bool, int] | None:
            mined = one.mined(its_hash)
            if mined is None:
                return None
            if depth and mined.block + depth - 1 > one.head(known_final=0).number:
                return None
            return mined.block, mined.succeeded, mined.gas_used

        return self.destination.quorum(ended_as, ("receipt", its_hash, depth))

    # Settled

    def check_final(self) -> None:
        """Check the settled ones whose blocks are final by now, those not checked lately first."""
        rows = SentTransaction.objects.filter(chain=self.chain_id, settled=True, final=False)
        if not rows.exclude(mined_block=None).exists():
            return
        final = rows.filter(mined_block__lte=self.destination.head().final_number)
        order = F("last_final_check").asc(nulls_first=True), "mined_block"
        some = list(final.order_by(*order).defer("raw")[: self.limits.batch_questions])
        newest = max((row.mined_block or 0 for row in some), default=0)
        if not some or not self.destination.quorum(
            lambda one: one.head().final_number >= newest, ("final", self.chain_id)
        ):
            return
        for row in some:
            # Stored first: a row that cannot be checked goes behind the others.
            rows.filter(pk=row.pk).update(last_final_check=shared_now())
            with suppress(NoQuorum):  # about this one: the others are checked all the same
                if self.is_undone(row):
                    reopen(row)
                else:
                    note_final(row)

    def check_settled(self) -> None:
        """Reopen settled transactions that a reorg undid before their blocks were final.

        Nonces are mined in order: while the last one has its receipt, those before it do as well.
        """
        rows = self.ours.filter(settled=True, final=False).exclude(mined_block=None)
        for row in rows.order_by("-nonce").defer("raw")[: self.limits.batch_questions]:
            mined = self.destination.mined(row.mined_hash)
            if (mined and mined.succeeded == row.succeeded) or not self.is_undone(row):
                return
            reopen(row)

    def is_undone(self, row: SentTransaction) -> bool:
        """By quorum: it is no longer mined, or its status has changed."""
        end = self._end(row)
        return end is None or end[1] != row.succeeded


def unsettled(job: BlockJob) -> list[SentTransaction]:
    return list(job.transactions.filter(settled=False).order_by("nonce"))


def reopen(row: SentTransaction) -> None:
    """Mark it as not sent, so that it is sent again. Reopen its jobs' queries that were proven."""
    what = f"undid transaction {row.mined_hash}" if row.mined_hash else "has not used it"
    log.error("Nonce %s of chain %s is open again: the chain %s.", row.nonce, row.chain, what)
    with transaction.atomic():
        jobs = BlockJob.objects.filter(pk__in=row.jobs.values("pk"))
        list(jobs.order_by("pk").select_for_update().values_list("pk", flat=True))
        SentTransaction.objects.filter(pk=row.pk, settled=True).update(
            settled=False, final=False, sent=None, nonce_used=None, **NOT_MINED
        )
        # Pieces that are in a later transaction by now stay with that one.
        later = TransactionOfJob.objects.filter(
            job=OuterRef("job"), pieces=OuterRef("pieces"), open=True
        )
        row.for_jobs.filter(~Exists(later)).update(open=True)
        if row.mined_hash:  # otherwise it was given up, and had proven nothing
            proven = Query.objects.filter(job__in=jobs, values__isnull=False)
            proven = proven.exclude(batch__status=BatchStatus.REJECTED)
            list(proven.order_by("pk").select_for_update().values_list("pk", flat=True))
            proven.update(ended=False)
        look_in_turn(jobs)


def _bumped(signed: Fees, now: Fees) -> Fees:
    """Fees that pools accept for a replacement: both at least an eighth higher."""
    dearest = max(now.dearest, signed.dearest * 9 // 8 + 1)
    tip = max(now.priority, signed.priority * 9 // 8 + 1, dearest // 8)
    return Fees(dearest, min(tip, dearest))


def _digest(to: str, pieces: Sequence[Piece]) -> str:
    facts = [to.lower(), *sorted(piece.facts for piece in pieces)]
    return sha256("\n".join(facts).encode()).hexdigest() if pieces else ""


def _show_on_pages(piece: Piece, row: SentTransaction) -> None:
    """Note the transaction at the queries whose steps it completes."""
    queries = Query.objects.filter(job=piece.job, ended=False)
    if piece.accumulate:
        queries.update(header_transaction=row)
    elif piece.fields or piece.timestamps:
        queries.filter(account="").update(header_transaction=row)
    accounts = [each.proof.address for each in piece.requests]
    shown = [Address(account).checksummed for account in accounts if account]
    queries.filter(account__in=shown).update(account_transaction=row)
