"""The transactions of one signer on one chain, from their nonce until their block is final.

SIGNED (stored, not sent) → SENT → MINED → settled, at the operator's depth → final. A row that is
mined or settled goes back to SENT when its chain undoes it. Signed bytes are stored before they are
sent, and the same bytes are sent again. A replacement keeps the nonce and raises the fee; what is
no longer wanted is replaced by an empty transfer, so that no nonce is skipped. That no two workers
take one nonce is held by the database.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from queries import query_rows
from queries.chain.errors import (
    CallReverted,
    ChainAnswer,
    FeesTooHigh,
    NodesRefuse,
    NonceUsed,
    TransactionRefused,
    Underpriced,
)
from queries.chain.sender import Bounds, Destination, Mined
from queries.chain.signer import Fees, SignedParts, SignedTransaction, Signer, parts_of, priority_of
from queries.durable import durably
from queries.limits import Limits
from queries.models import BlockJob, Query, SentHash, SentTransaction, Share, TransactionOfJob
from queries.pipeline.clock import shared_now
from queries.pipeline.fees import (
    NOT_MINED,
    Need,
    Offer,
    count_cost,
    fit_to_fees,
    note_receipt,
    settle_costs,
    within_the_day,
)
from queries.pipeline.pieces import Piece
from queries.pipeline.queue import Lease, look_now
from queries.schema.addresses import Address

log = logging.getLogger("tacitus.prover")

FINAL_AT_ONCE = 20  # transactions that are looked at once their blocks are final
# What nodes refuse for good; a signer without funds is waited for.
REFUSED = (TransactionRefused, CallReverted, NodesRefuse)


class LaneBusy(Exception):  # noqa: N818
    """Another worker has sent the same: try again in a moment."""


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

    # Signing

    def put_on_their_way(
        self,
        leases: Mapping[int, Lease[BlockJob]],
        to: str,
        offered: Sequence[Offer],
        unless: QuerySet[SentTransaction] | None = None,
    ) -> None:
        """Signed and stored as long as the jobs are ours and their batches pay, then sent.

        `unless`: those that do the same for other jobs of the way, one of which is enough.
        """
        funds = self.destination.balance(self.signer.address)
        taken = -1  # the nonce that another worker took
        while (nonce := self._next_nonce()) > taken:
            # After the nonce: whoever has signed meanwhile is counted, or took this nonce.
            allowed = within_the_day(self.destination.chain, self.ours, offered)
            try:
                with durably():
                    if unless is not None and _is_done_by(unless, leases):
                        return
                    for _, lease in sorted(leases.items()):
                        lease.keep()  # in this order: none locks another's
                    free = self.destination.chain.free
                    going = allowed if free else fit_to_fees(allowed)
                    if any(each.held > funds for each in going):
                        raise self.destination.too_poor()
                    _lock_queries(leases)
                    rows = [
                        self._store(leases, nonce + place, to, each)
                        for place, each in enumerate(going)
                    ]
            except IntegrityError:
                taken = nonce
                continue
            for row in rows:
                try:
                    self._send(row)
                except ChainAnswer as answer:
                    # It is stored, so it is followed and sent again: nothing else proves the same.
                    log.warning("Nonce %s of chain %s: %s", row.nonce, row.chain, answer)
            return
        raise LaneBusy

    def _next_nonce(self) -> int:
        """Our highest and one; the chain's count by quorum, where it is above that or we have none:
        the key was used elsewhere, or the database is an older backup.
        """
        highest = self.ours.aggregate(Max("nonce"))["nonce__max"]
        following = 0 if highest is None else int(highest) + 1
        used = self.destination.nonce(self.signer.address)
        if highest is None or used > following:
            used = self._used_by_quorum()
        return max(used, following)

    def _used_by_quorum(self) -> int:
        me = self.signer.address
        return self.destination.quorum(lambda one: one.nonce(me), ("transaction count", me))

    def _store(
        self, leases: Mapping[int, Lease[BlockJob]], nonce: int, to: str, offer: Offer
    ) -> SentTransaction:
        pieces = offer.call.pieces
        call = SignedParts(self.chain_id, nonce, to, offer.call.data, offer.gas_limit)
        row = self._new_row(call, offer.fees, offer.most, brings_hash=not pieces)
        Share.objects.bulk_create(
            Share(transaction=row, batch_id=batch, most=f"{wei:064x}")
            for batch, wei in offer.shares.items()
        )
        jobs = dict.fromkeys(piece.job for piece in pieces) or leases
        TransactionOfJob.objects.bulk_create(
            TransactionOfJob(
                job=leases[job].row,
                transaction=row,
                proves_header=any(piece.job == job and piece.proves_header for piece in pieces),
                stone=next((piece.stone_at for piece in pieces if piece.job == job), None),
                pieces=_digest(to, [piece for piece in pieces if piece.job == job]),
            )
            for job in jobs
        )
        for piece in pieces:
            _note_whose_it_is(piece, row)
        return row

    def _new_row(
        self, call: SignedParts, fees: Fees, most: int, *, brings_hash: bool = False
    ) -> SentTransaction:
        signed = self._sign(call, fees)
        row = SentTransaction.objects.create(
            chain=self.chain_id,
            sender=self.signer.address,
            nonce=call.nonce,
            raw=signed.raw,
            hashes=[signed.hash],
            max_fee=f"{fees.dearest:064x}",
            gas_limit=call.gas_limit,
            most=f"{most:064x}",
            brings_hash=brings_hash,
            signed=shared_now(),
        )
        SentHash.objects.create(transaction=row, hash=signed.hash)
        return row

    def _sign(self, call: SignedParts, fees: Fees) -> SignedTransaction:
        return self.signer.sign(call.chain_id, call.nonce, call.to, call.data, call.gas_limit, fees)

    def _send(self, row: SentTransaction, *, again: bool = False) -> None:
        """What is stored; again to every node, because the first one may have passed nothing on."""
        if again:
            self.destination.send_to_each(row.raw)
        try:
            self.destination.send(row.raw)
        except Underpriced:
            pass  # it waits, and is replaced by a dearer one when it has waited long enough
        except NonceUsed:
            self._see_who_used_it(row)
            return
        row.sent = shared_now()
        SentTransaction.objects.filter(pk=row.pk, settled=False).update(sent=row.sent)
        log.info("Sent %s to chain %s, nonce %s.", row.hashes[-1], row.chain, row.nonce)

    # Following

    def follow(self, rows: Iterable[SentTransaction], depth: int, head: int) -> bool:
        """What became of each; whether any is still on its way. `head`: a block that there is.

        One that failed is until it is settled: else what it did not prove would be sent once more
        for the word of one node.
        """
        waiting = False
        for row in rows:
            self._look(row, head)
            if row.settled:
                continue
            if row.mined_block is None:
                self._send_again(row)
                waiting = waiting or not row.settled
            elif row.mined_block + depth - 1 <= head:
                self._settle(row, head - depth + 1)
                waiting = waiting or not row.settled
            else:
                waiting = waiting or not row.succeeded
        return waiting

    def _look(self, row: SentTransaction, head: int) -> None:
        """Note where it was mined, or that it no longer is: by any of its hashes."""
        before = row.mined_hash, row.mined_block, row.succeeded
        for transaction_hash in row.hashes:
            mined = self.destination.mined(transaction_hash, bounds_of(row))
            if mined is not None and mined.block <= head:
                _write(row, transaction_hash, mined)
                break
        else:
            if row.mined_block is not None:
                row.sent = None  # undone: it is sent again at once
            for name, value in NOT_MINED.items():
                setattr(row, name, value)
        if before != (row.mined_hash, row.mined_block, row.succeeded) and not note_receipt(row):
            row.refresh_from_db()

    def _settle(self, row: SentTransaction, deep: int) -> None:
        """By quorum: what it cost and proved counts from here on. Not on prices, of which nodes of
        an OP-stack chain do not all tell the same; they are within what was signed.
        """
        bounds, its_hash = bounds_of(row), row.mined_hash

        def ended_as(one: Destination) -> tuple[int, bool, int] | None:
            mined = one.mined(its_hash, bounds)
            return (mined.block, mined.succeeded, mined.gas_used) if mined else None

        ended = self.destination.quorum(ended_as, ("receipt", its_hash))
        noted = row.mined_block, row.succeeded, row.gas_used
        if ended is not None and ended == noted and ended[0] <= deep:
            settle_costs(row, free=self.destination.chain.free)

    def _send_again(self, row: SentTransaction) -> None:
        now = shared_now()
        waited = now - row.signed
        if row.sent is not None and now < row.sent + timedelta(seconds=self.limits.resend_after):
            return
        replace_after = timedelta(seconds=self.limits.replace_after)
        is_ours = row.sender == self.signer.address
        if not is_ours and waited >= timedelta(seconds=self.limits.abandoned_after):
            log.error("Nonce %s of %s is abandoned: its key is gone.", row.nonce, row.sender)
            row.succeeded = False
            settle_costs(row, free=self.destination.chain.free)
            return
        if is_ours and row.sent is not None and waited >= replace_after:
            self._close_gap(row)
            if waited >= replace_after * len(row.hashes):
                self._replace(row)
        try:
            self._send(row, again=True)
        except REFUSED as refused:
            if not is_ours or waited < replace_after or not parts_of(row.raw).data:
                raise
            self._cancel(row, str(refused))

    def _replace(self, row: SentTransaction) -> None:
        """The same call at a higher fee, within the operator's bound; whichever is mined, it is
        mined once. What it costs beyond its batches' fees the operator bears.
        """
        try:
            now = self.destination.fees()
        except FeesTooHigh:
            return  # it waits until gas is as cheap as the operator wants it
        fees = _bumped(row, now)
        if fees.dearest <= self.destination.chain.dearest_gas:
            most = int(row.most, 16) * fees.dearest // max(int(row.max_fee, 16), 1)
            self._sign_anew(row, parts_of(row.raw), fees, most)

    def _cancel(self, row: SentTransaction, why: str) -> None:
        """An empty transfer takes the nonce, for which all that come after wait. What it was to
        prove is proven anew.
        """
        log.error("An empty transaction takes nonce %s: %s", row.nonce, why)
        dearest = int(row.max_fee, 16)
        empty, most = self._empty(row.nonce, Fees(dearest, dearest // 8))
        fees = _bumped(row, Fees(dearest, dearest // 8))
        with durably():
            if not self._sign_anew(row, empty, fees, max(int(row.most, 16), most)):
                return
            row.for_jobs.update(proves_header=False, stone=None, open=False)
            named = Query.objects.filter(Q(header_transaction=row) | Q(account_transaction=row))
            list(named.order_by("pk").select_for_update().values_list("pk", flat=True))
            Query.objects.filter(header_transaction=row).update(header_transaction=None)
            Query.objects.filter(account_transaction=row).update(account_transaction=None)

    def _empty(self, nonce: int, fees: Fees) -> tuple[SignedParts, int]:
        """A transfer of nothing to ourselves, and what it may cost."""
        me = self.signer.address
        gas = self.destination.gas_needed(me, me, b"")
        (data_fee,) = self.destination.data_fees([b""])
        return SignedParts(self.chain_id, nonce, me, b"", gas), Need(gas, data_fee).most(fees)

    def _sign_anew(self, row: SentTransaction, call: SignedParts, fees: Fees, most: int) -> bool:
        """Whether it was this one that did: else another worker has just replaced it."""
        signed = self._sign(call, fees)
        before = row.raw
        row.raw, row.hashes = signed.raw, [*row.hashes, signed.hash]
        row.gas_limit = max(row.gas_limit, call.gas_limit)  # either may be the one that is mined
        row.max_fee, row.most = f"{fees.dearest:064x}", f"{most:064x}"
        with durably():
            ours = SentTransaction.objects.filter(pk=row.pk, raw=before, settled=False).update(
                raw=row.raw,
                hashes=row.hashes,
                gas_limit=row.gas_limit,
                max_fee=row.max_fee,
                most=row.most,
            )
            if ours:
                SentHash.objects.create(transaction=row, hash=signed.hash)
        if not ours:  # the other one is sent, or one was mined
            row.refresh_from_db()
        return bool(ours)

    def _close_gap(self, behind: SentTransaction) -> None:
        """A nonce below this one that neither the chain nor a row of ours has used: all that come
        after it wait. It is used by an empty transfer, or its row is opened again.
        """
        used = self.destination.nonce(self.signer.address)
        if used >= behind.nonce or self._used_by_quorum() != used:
            return
        row = self.ours.filter(nonce=used).first()
        if row is not None:
            if row.settled and self.is_undone(row):
                reopen(row)
            return
        log.error("Nobody has nonce %s: an empty transaction takes it.", used)
        dearest = int(behind.max_fee, 16)
        fees = Fees(dearest, dearest // 8)
        call, most = self._empty(used, fees)
        try:
            with durably():
                its_jobs = BlockJob.objects.filter(transactions=behind).order_by("pk")
                jobs = list(its_jobs.select_for_update(of=("self",)))  # first, as all who sign
                filling = self._new_row(call, fees, most)
                TransactionOfJob.objects.bulk_create(
                    TransactionOfJob(job=job, transaction=filling) for job in jobs
                )
        except IntegrityError:  # another worker has taken it
            return
        self._send(filling)

    def _see_who_used_it(self, row: SentTransaction) -> None:
        """One of ours that was mined meanwhile; or something that the key signed elsewhere. That
        counts once the block where it was first seen is final.
        """
        head = self.destination.head()
        if row.nonce_used is None:
            row.nonce_used = head.number
            SentTransaction.objects.filter(pk=row.pk, settled=False).update(nonce_used=head.number)
        sender, nonce, hashes = row.sender, row.nonce, tuple(row.hashes)

        def is_gone(one: Destination) -> bool:
            return one.nonce(sender) > nonce and not any(map(one.mined, hashes))

        if head.final_number >= row.nonce_used and self.destination.quorum(
            is_gone, ("used elsewhere", sender, nonce)
        ):
            row.succeeded = False
            settle_costs(row, free=self.destination.chain.free)

    # Finality

    def look_at_final(self) -> bool:
        """Settled ones whose blocks are final by now: whether they stayed. Whether more wait."""
        rows = self.ours.filter(settled=True, final=False, mined_block__isnull=False)
        if not rows.exists():
            return False
        deep_enough = rows.filter(mined_block__lte=self.destination.head().final_number)
        some = list(deep_enough.order_by("mined_block")[:FINAL_AT_ONCE])
        if not some:
            return False
        last = max(row.mined_block or 0 for row in some)
        if not self.destination.quorum(
            lambda one: one.head().final_number >= last, ("final", self.chain_id)
        ):
            return False
        for row in some:
            if self.is_undone(row):
                reopen(row)
            else:
                # Not one that was undone and mined anew meanwhile.
                deep_enough.filter(pk=row.pk, mined_hash=row.mined_hash).update(final=True)
        return len(some) == FINAL_AT_ONCE

    def is_undone(self, row: SentTransaction) -> bool:
        """By quorum: not mined any more, or with another end."""
        its_hash = row.mined_hash

        def ended_as(one: Destination) -> bool | None:
            mined = one.mined(its_hash)
            return None if mined is None else mined.succeeded

        return self.destination.quorum(ended_as, ("end", its_hash)) != row.succeeded


def unsettled(job: BlockJob) -> list[SentTransaction]:
    return list(job.transactions.filter(settled=False).order_by("nonce"))


def bounds_of(row: SentTransaction) -> Bounds:
    return Bounds(row.gas_limit, int(row.max_fee, 16))


def sent_to(registry: str, rows: QuerySet[SentTransaction]) -> Iterator[int]:
    """The keys of those that went to this registry, and not to one that the route had before."""
    for key, raw in rows.values_list("pk", "raw").iterator():
        if parts_of(raw).to == registry.lower():
            yield key


def reopen(row: SentTransaction) -> None:
    """It is sent again; those whose facts it proved are asked for, and end again when they are
    there again.
    """
    log.error(
        "Chain %s undid transaction %s after it had been confirmed. What it proved is seen to.",
        row.chain,
        row.mined_hash,
    )
    with transaction.atomic():
        # Jobs before their queries, as whoever signs locks them.
        jobs = BlockJob.objects.filter(transactions=row.pk).values("pk")
        look_now(BlockJob.objects.filter(pk__in=jobs))
        reopened = SentTransaction.objects.filter(pk=row.pk, settled=True).update(
            settled=False, final=False, sent=None, nonce_used=None, **NOT_MINED
        )
        # Pieces that are in a later transaction by now stay with that one.
        later = TransactionOfJob.objects.filter(
            job=OuterRef("job"), pieces=OuterRef("pieces"), open=True
        )
        row.for_jobs.filter(~Exists(later)).update(open=True)
        named = Query.objects.filter(Q(header_transaction=row) | Q(account_transaction=row))
        proven = named.filter(values__isnull=False)
        list(proven.order_by("pk").select_for_update().values_list("pk", flat=True))
        proven.update(ended=False)
        if reopened:
            count_cost(row, times=-1)


def _write(row: SentTransaction, transaction_hash: str, mined: Mined) -> None:
    """What a receipt says, in a row that is not stored yet."""
    row.mined_hash, row.mined_block = transaction_hash, mined.block
    row.succeeded, row.gas_used, row.nonce_used = mined.succeeded, mined.gas_used, None
    row.gas_price, row.data_fee = f"{mined.gas_price:064x}", f"{mined.data_fee:064x}"


def _bumped(row: SentTransaction, now: Fees) -> Fees:
    """At least what a pool takes in its place: an eighth more of both."""
    dearest = max(now.dearest, int(row.max_fee, 16) * 9 // 8 + 1)
    tip = max(now.priority, priority_of(row.raw) * 9 // 8 + 1, dearest // 8)
    return Fees(dearest, min(tip, dearest))


def _digest(to: str, pieces: Sequence[Piece]) -> str:
    told = [to.lower(), *sorted(piece.facts for piece in pieces)]
    return sha256("\n".join(told).encode()).hexdigest() if pieces else ""


def _is_done_by(others: QuerySet[SentTransaction], leases: Mapping[int, Lease[BlockJob]]) -> bool:
    """Asked by one worker at a time, until it has stored its own."""
    job = next(iter(leases.values())).row
    of_the_way = BlockJob.objects.filter(source=job.source, destination=job.destination)
    of_the_way.order_by("pk").select_for_update().first()
    return others.exists()


def _lock_queries(leases: Mapping[int, Lease[BlockJob]]) -> None:
    """Whose transactions these are is noted below, and in the order of the pieces. Locked in their
    order first, as all who lock several do: else two could wait for each other.
    """
    queries = Query.objects.filter(job__in=list(leases), ended=False).order_by("pk")
    list(queries.select_for_update().values_list("pk", flat=True))


def _note_whose_it_is(piece: Piece, row: SentTransaction) -> None:
    """For the pages."""
    if piece.stone:
        return
    queries = Query.objects.filter(job=piece.job, ended=False)
    unproven = queries.filter(Q(header_transaction=None) | Q(header_transaction__succeeded=False))
    if piece.proves_header:
        unproven.update(header_transaction=row)
    elif not piece.by_words:
        unproven.filter(account="").update(header_transaction=row)
    accounts = [each.proof.address for each in piece.requests]
    shown = {Address(account).checksummed for account in accounts if account}
    some = [query for query in queries.order_by("pk").only("account") if query.account in shown]
    for query in some:
        query.account_transaction = row
    query_rows.update(some, ["account_transaction"])
