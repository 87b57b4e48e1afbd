"""The lane of one signer on one chain: a transaction a nonce, none skipped, none used twice.

Signed bytes are stored before they are sent, and it is these that are sent again. That two workers
take one nonce is stopped by the database.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError
from django.db.models import Max, Q, QuerySet

from queries.chain.destination import Destination
from queries.chain.errors import NonceUsed, Underpriced
from queries.chain.signer import SignedTransaction, Signer
from queries.durable import durably
from queries.models import BlockJob, Query, SentHash, SentTransaction, TransactionOfJob
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import check_that_they_pay, settle_costs
from queries.pipeline.leases import Lease
from queries.pipeline.offers import Offer
from queries.pipeline.pieces import Piece

log = logging.getLogger("tacitus.prover")

TRIES = 20
LOST_AFTER = timedelta(seconds=60)
AT_ONCE = 500  # rows that a statement names


class LaneBusy(Exception):  # noqa: N818
    """Other workers took one nonce after another: try again in a moment."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One signer on one chain."""

    destination: Destination
    chain_id: int
    signer: Signer

    def put_on_their_way(
        self,
        leases: Mapping[int, Lease[BlockJob]],
        to: str,
        offered: Sequence[Offer],
        unless: QuerySet[SentTransaction] | None = None,
    ) -> None:
        """Signed, stored as long as the jobs are ours and their batches pay, then sent.

        `unless`: those that do the same for other jobs of the way, one of which is enough.
        """
        for _ in range(TRIES):
            nonce = self._next_nonce()
            signed = [
                self.signer.sign(
                    self.chain_id, nonce + place, to, each.call.data, each.gas_limit, each.fees
                )
                for place, each in enumerate(offered)
            ]
            try:
                with durably():
                    if unless is not None and _is_done_by(unless, leases):
                        return
                    for _, lease in sorted(leases.items()):
                        lease.keep()
                    if not self.destination.chain.free:
                        check_that_they_pay(self.chain_id, offered)
                    rows = [
                        self._store(leases, nonce + place, *each)
                        for place, each in enumerate(zip(signed, offered, strict=True))
                    ]
            except IntegrityError:
                continue
            for row in rows:
                self.send(row)
            return
        raise LaneBusy

    def _next_nonce(self) -> int:
        mined = self.destination.nonce(self.signer.address)
        ours = SentTransaction.objects.filter(chain=self.chain_id, sender=self.signer.address)
        highest = ours.aggregate(Max("nonce"))["nonce__max"]
        return mined if highest is None else max(mined, int(highest) + 1)

    def _store(
        self,
        leases: Mapping[int, Lease[BlockJob]],
        nonce: int,
        signed: SignedTransaction,
        offer: Offer,
    ) -> SentTransaction:
        pieces = offer.call.pieces
        row = SentTransaction.objects.create(
            chain=self.chain_id,
            sender=self.signer.address,
            nonce=nonce,
            raw=signed.raw.hex(),
            hashes=[signed.hash],
            max_fee=f"{offer.fees.dearest:064x}",
            gas_limit=offer.gas_limit,
            most=f"{offer.most:064x}",
            shares=offer.shares,
            brings_hash=not pieces,
            signed=shared_now(),
        )
        SentHash.objects.create(transaction=row, hash=signed.hash)
        jobs = dict.fromkeys(piece.job for piece in pieces) or leases
        TransactionOfJob.objects.bulk_create(
            TransactionOfJob(
                job=leases[job].row,
                transaction=row,
                proves_header=any(piece.job == job and piece.proves_header for piece in pieces),
                stone=next((piece.stone_at for piece in pieces if piece.job == job), None),
            )
            for job in jobs
        )
        for piece in pieces:
            _note_whose_it_is(piece, row)
        return row

    def send(self, row: SentTransaction) -> None:
        """What is stored; also again."""
        try:
            self.destination.send(bytes.fromhex(row.raw))
        except Underpriced:
            pass  # it waits, and is replaced by a dearer one when it has waited long enough
        except NonceUsed:
            self._see_who_used_it(row)
            return
        row.sent = shared_now()
        SentTransaction.objects.filter(pk=row.pk).update(sent=row.sent)
        log.info("Sent %s to chain %s, nonce %s.", row.hashes[-1], row.chain, row.nonce)

    def _see_who_used_it(self, row: SentTransaction) -> None:
        """One of ours that was mined meanwhile, or something that the key signed elsewhere.

        A node that is behind may know of a nonce from the pool and of no receipt yet.
        """
        if shared_now() < row.signed + LOST_AFTER or any(
            self.destination.mined(each) for each in row.hashes
        ):
            return
        if self.destination.nonce(row.sender) > row.nonce:
            SentTransaction.objects.filter(pk=row.pk).update(succeeded=False)
            settle_costs(row, free=self.destination.chain.free)
            row.settled = True


def _is_done_by(others: QuerySet[SentTransaction], leases: Mapping[int, Lease[BlockJob]]) -> bool:
    """Asked by one worker at a time, until it has stored its own."""
    job = next(iter(leases.values())).row
    of_the_way = BlockJob.objects.filter(source=job.source, destination=job.destination)
    of_the_way.order_by("pk").select_for_update().first()
    return others.exists()


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
    named = queries.exclude(account="").values_list("pk", "account")
    mine = [key for key, account in named if bytes.fromhex(account[2:]) in piece.accounts]
    for start in range(0, len(mine), AT_ONCE):
        some = mine[start : start + AT_ONCE]
        Query.objects.filter(pk__in=some).update(account_transaction=row)
