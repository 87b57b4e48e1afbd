"""The lane of one signer on one chain: a transaction a nonce, none skipped, none used twice.

Signed bytes are stored before they are sent, and it is these that are sent again. That two workers
take one nonce is stopped by the database.
"""

import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError
from django.db.models import Max, Q, QuerySet

from queries.chain.destination import Destination
from queries.chain.errors import NonceUsed, Underpriced
from queries.chain.second_words import SecondWords
from queries.chain.signer import Signer
from queries.durable import durably
from queries.models import BlockJob, Query, SentHash, SentTransaction, TransactionOfJob
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import settle_costs, that_they_cover
from queries.pipeline.day import within_the_day
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
    second_words: SecondWords
    chain_id: int
    signer: Signer

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
        for _ in range(TRIES):
            nonce = self._next_nonce(len(offered))
            # After the nonce: whoever has sent meanwhile is counted, or took this nonce; but for
            # who fills one that was left out, which few ever are.
            allowed = within_the_day(self.destination.chain, self.ours, offered)
            try:
                with durably():
                    if unless is not None and _is_done_by(unless, leases):
                        return
                    for _, lease in sorted(leases.items()):
                        lease.keep()
                    free = self.destination.chain.free
                    going = allowed if free else that_they_cover(self.chain_id, allowed)
                    _lock_queries(leases)
                    rows = [
                        self._store(leases, nonce + place, to, each)
                        for place, each in enumerate(going)
                    ]
            except IntegrityError:
                continue
            for row in rows:
                self.send(row)
            return
        raise LaneBusy

    def _next_nonce(self, count: int) -> int:
        """The first of so many."""
        mined = self.destination.nonce(self.signer.address)
        left_out = self.left_out(mined, count)
        if left_out is not None:
            return left_out
        highest = self.ours.aggregate(Max("nonce"))["nonce__max"]
        if highest is None:
            return mined
        following = int(highest) + 1
        if mined > following:
            # More than we know of: what one node says so alone would leave a gap, for which all
            # that comes after it would wait.
            mined = self.destination.least_nonce(self.signer.address)
        return max(mined, following)

    def left_out(self, mined: int, count: int = 1) -> int | None:
        """The first of so many nonces that none of ours has, although one waits for it.

        A node that says that more were mined than were leaves such a gap.
        """
        above = self.ours.filter(nonce__gte=mined)
        waiting = above.filter(settled=False).aggregate(Max("nonce"))["nonce__max"]
        if waiting is None:
            return None
        taken = set(above.values_list("nonce", flat=True))
        first = next(nonce for nonce in itertools.count(mined) if nonce not in taken)
        fits = first < waiting and taken.isdisjoint(range(first, first + count))
        return first if fits else None

    @property
    def ours(self) -> QuerySet[SentTransaction]:
        return SentTransaction.objects.filter(chain=self.chain_id, sender=self.signer.address)

    def _store(
        self,
        leases: Mapping[int, Lease[BlockJob]],
        nonce: int,
        to: str,
        offer: Offer,
    ) -> SentTransaction:
        pieces = offer.call.pieces
        signed = self.signer.sign(
            self.chain_id, nonce, to, offer.call.data, offer.gas_limit, offer.fees
        )
        row = SentTransaction.objects.create(
            chain=self.chain_id,
            sender=self.signer.address,
            nonce=nonce,
            raw=signed.raw,
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
            self.destination.send(row.raw)
        except Underpriced:
            pass  # it waits, and is replaced by a dearer one when it has waited long enough
        except NonceUsed:
            self._see_who_used_it(row)
            return
        row.sent = shared_now()
        SentTransaction.objects.filter(pk=row.pk, settled=False).update(sent=row.sent)
        log.info("Sent %s to chain %s, nonce %s.", row.hashes[-1], row.chain, row.nonce)

    def _see_who_used_it(self, row: SentTransaction) -> None:
        """One of ours that was mined meanwhile, or something that the key signed elsewhere.

        A node that is behind may know of a nonce from the pool and of no receipt yet.
        """
        if shared_now() < row.signed + LOST_AFTER or not all(
            self.destination.is_mined_for_nobody(each) for each in row.hashes
        ):
            return
        if self.destination.nonce(row.sender) > row.nonce:
            self.destination.confirm_chain()  # another one's node knows none of ours
            row.succeeded = False
            settle_costs(row, free=self.destination.chain.free)


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
    named = queries.exclude(account="").values_list("pk", "account")
    mine = [key for key, account in named if bytes.fromhex(account[2:]) in piece.accounts]
    for start in range(0, len(mine), AT_ONCE):
        some = mine[start : start + AT_ONCE]
        Query.objects.filter(pk__in=some).update(account_transaction=row)
