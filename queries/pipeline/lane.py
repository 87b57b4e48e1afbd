"""The lane of one signer on one chain: a transaction a nonce, none skipped, none used twice.

Signed bytes are stored before they are sent, and it is these that are sent again. That two workers
take one nonce is stopped by the database.
"""

import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import IntegrityError
from django.db.models import Max, Q, QuerySet

from queries.chain.destination import Destination, Fees
from queries.chain.errors import ChainAnswer, NonceUsed, Underpriced
from queries.chain.one_transaction import MOST_GAS
from queries.chain.second_words import SecondWords
from queries.chain.signer import SignedTransaction, Signer
from queries.durable import durably
from queries.models import BlockJob, Query, SentHash, SentTransaction, TransactionOfJob
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import settle_costs, that_they_cover
from queries.pipeline.day import within_the_day
from queries.pipeline.leases import Lease
from queries.pipeline.mined import FURTHEST_BEHIND
from queries.pipeline.offers import Need, Offer
from queries.pipeline.pieces import Piece
from queries.schema.addresses import Address

log = logging.getLogger("tacitus.prover")

TRIES = 20
# Behind one address one node may know of a nonce and another one of no receipt yet.
LOST_AFTER = FURTHEST_BEHIND
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
        # How much gas it takes, and what that costs, is a node's word. One that the signer cannot
        # pay would never be taken, and all that come after it would wait.
        held = self.destination.balance_by_two(
            self.signer.address, enough=max(each.held for each in offered)
        )
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
                        replace(lease, beside=()).keep()  # in this order: none locks another's
                    free = self.destination.chain.free
                    going = allowed if free else that_they_cover(self.chain_id, allowed)
                    if any(each.held > held for each in going):
                        raise self.destination.too_poor()
                    _lock_queries(leases)
                    rows = [
                        self._store(leases, nonce + place, to, each)
                        for place, each in enumerate(going)
                    ]
            except IntegrityError:
                continue
            for row in rows:
                try:
                    self.send(row)
                except ChainAnswer as answer:
                    # It is stored, so it is followed and sent again: nothing else proves the same.
                    log.warning("Nonce %s of chain %s: %s", row.nonce, row.chain, answer)
                    self.destination.ask_another_first()
            return
        raise LaneBusy

    def _next_nonce(self, count: int) -> int:
        """The first of so many."""
        mined = self.destination.nonce(self.signer.address)
        left_out = self.left_out(mined, count)
        if left_out is not None:
            return left_out
        highest = self.ours.aggregate(Max("nonce"))["nonce__max"]
        following = 0 if highest is None else int(highest) + 1
        if highest is None:
            # One that is too low is used; one that is too high leaves a gap, which is closed.
            mined = max(mined, self.destination.nonce_by_two(self.signer.address))
        elif mined > following:
            # More than we know of: what one node says so alone would leave a gap, for which all
            # that comes after it would wait.
            mined = self.destination.nonce_by_two(self.signer.address)
        return max(mined, following)

    def left_out(self, mined: int, count: int = 1) -> int | None:
        """The first of so many nonces that none of ours has, although one waits for it.

        A node that says that more were mined than were leaves such a gap. That there is one takes
        two of three: one that is behind would have one that was used long ago.
        """
        if self._gap(mined, count) is None:
            return None
        return self._gap(self.destination.nonce_by_two(self.signer.address), count)

    def _gap(self, mined: int, count: int) -> int | None:
        # All before one of ours that was mined are used.
        ended = self.ours.filter(settled=True, gas_used__isnull=False)
        last = ended.aggregate(Max("nonce"))["nonce__max"]
        if last is not None:
            mined = max(mined, last + 1)
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
        row = SentTransaction(
            nonce=nonce,
            max_fee=f"{offer.fees.dearest:064x}",
            gas_limit=offer.gas_limit,
            most=f"{offer.most:064x}",
            shares=offer.shares,
            brings_hash=not pieces,
        )
        self._keep(row, signed)
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

    def _keep(self, row: SentTransaction, signed: SignedTransaction) -> None:
        row.chain, row.sender, row.signed = self.chain_id, self.signer.address, shared_now()
        row.raw, row.hashes = signed.raw, [signed.hash]
        row.save(force_insert=True)
        SentHash.objects.create(transaction=row, hash=signed.hash)

    def fill(self, nonce: int, behind: SentTransaction) -> None:
        """One that was left out, by an empty transaction that no batch pays for; whoever follows
        the one that waits behind it follows it as well.
        """
        me, dearest = self.signer.address, int(behind.max_fee, 16)
        gas = min(self.destination.gas_of_nothing(me), MOST_GAS)
        (data_fee,) = self.destination.data_fees([b""])
        fees = Fees(dearest, dearest // 8)
        signed = self.signer.sign(self.chain_id, nonce, me, b"", gas, fees)
        most = Need(gas, data_fee).most(fees)
        row = SentTransaction(
            nonce=nonce, max_fee=behind.max_fee, gas_limit=gas, most=f"{most:064x}"
        )
        try:
            with durably():
                its_jobs = BlockJob.objects.filter(transactions=behind).order_by("pk")
                jobs = list(its_jobs.select_for_update(of=("self",)))  # first, as all who sign
                self._keep(row, signed)
                TransactionOfJob.objects.bulk_create(
                    TransactionOfJob(job=job, transaction=row) for job in jobs
                )
        except IntegrityError:  # another worker has taken it
            return
        self.send(row)

    def send(self, row: SentTransaction, *, by_two: bool = True) -> None:
        """What is stored; also again, to another node: the first one may have passed nothing on.
        `by_two`: one node's refusal says nothing while another is away.
        """
        if row.sent is not None:
            self.destination.ask_another_first()
        try:
            self.destination.send(row.raw, by_two=by_two)
        except Underpriced:
            pass  # it waits, and is replaced by a dearer one when it has waited long enough
        except NonceUsed:
            if row.sent is None:
                self.destination.ask_another_first()  # as above, the next time
            self._see_who_used_it(row)
            return
        row.sent = shared_now()
        SentTransaction.objects.filter(pk=row.pk, settled=False).update(sent=row.sent)
        log.info("Sent %s to chain %s, nonce %s.", row.hashes[-1], row.chain, row.nonce)

    def _see_who_used_it(self, row: SentTransaction) -> None:
        """One of ours that was mined meanwhile, or something that the key signed elsewhere."""
        now = shared_now()
        if row.nonce_used is None:
            row.nonce_used = now
            unsettled = SentTransaction.objects.filter(pk=row.pk, settled=False)
            unsettled.filter(nonce_used=None).update(nonce_used=now)
        if now < row.nonce_used + LOST_AFTER or not all(
            self.destination.is_mined_for_nobody(each) for each in row.hashes
        ):
            return
        if self.destination.has_used_nonce(row.sender, row.nonce):
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
    shown = [Address(account).checksummed for account in piece.accounts]
    for start in range(0, len(shown), AT_ONCE):
        some = shown[start : start + AT_ONCE]
        queries.filter(account__in=some).update(account_transaction=row)
