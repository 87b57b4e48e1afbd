"""The lane of one signer on one chain: a transaction a nonce, none skipped, none used twice.

Signed bytes are stored before they are sent, and it is these that are sent again. That two workers
take one nonce is stopped by the database.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError
from django.db.models import Max

from queries.chain.destination import Destination, Fees
from queries.chain.errors import NonceUsed, Underpriced
from queries.chain.signed_parts import parts_of
from queries.chain.signer import Signer
from queries.durable import durably
from queries.models import BlockJob, Query, SentTransaction
from queries.pipeline.calls import Call
from queries.pipeline.clock import shared_now
from queries.pipeline.leases import Lease

log = logging.getLogger("tacitus.prover")

SENT_AGAIN_AFTER = timedelta(seconds=15)
REPLACED_AFTER = timedelta(seconds=60)
MOST_GAS = 2**24  # of a transaction (EIP-7825)
TRIES = 20


class LaneBusy(Exception):  # noqa: N818
    """Other workers took one nonce after another: try again in a moment."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A call with the gas it needs and what is paid for it."""

    call: Call
    gas_needed: int
    fees: Fees

    @property
    def gas_limit(self) -> int:
        """Some more than estimated, because the state moves on until it is mined."""
        return min(self.gas_needed + self.gas_needed // 10, MOST_GAS)


@dataclass(frozen=True, slots=True)
class Lane:
    """One signer on one chain."""

    destination: Destination
    chain_id: int
    signer: Signer

    def put_on_its_way(self, lease: Lease[BlockJob], to: str, priced: Priced) -> None:
        """Signed, stored as long as the job is ours, then sent."""
        for _ in range(TRIES):
            nonce = self._next_nonce()
            signed = self.signer.sign(
                self.chain_id, nonce, to, priced.call.data, priced.gas_limit, priced.fees
            )
            try:
                with durably():
                    lease.keep()
                    row = SentTransaction.objects.create(
                        job=lease.row,
                        chain=self.chain_id,
                        sender=self.signer.address,
                        nonce=nonce,
                        raw=signed.raw.hex(),
                        hashes=[signed.hash],
                        max_fee=f"{priced.fees.dearest:064x}",
                        gas_limit=priced.gas_limit,
                        proves_header=priced.call.proves_header,
                        brings_hash=priced.call.brings_hash,
                        signed=shared_now(),
                    )
                    _note_whose_it_is(lease.row, priced.call, row)
            except IntegrityError:
                continue
            self._send(row)
            log.info("Sent %s for %s, nonce %s.", signed.hash, lease.row, nonce)
            return
        raise LaneBusy

    def _next_nonce(self) -> int:
        mined = self.destination.nonce(self.signer.address)
        ours = SentTransaction.objects.filter(chain=self.chain_id, sender=self.signer.address)
        highest = ours.aggregate(Max("nonce"))["nonce__max"]
        return mined if highest is None else max(mined, int(highest) + 1)

    def look_after(self, rows: Iterable[SentTransaction], depth: int) -> bool:
        """What became of each; whether any is still on its way."""
        head = self.destination.head().number
        waiting = False
        for row in rows:
            self._look(row)
            if row.settled:
                continue
            if row.mined_block is None:
                self._send_again(row)
                waiting = True
            elif row.mined_block + depth - 1 <= head:
                SentTransaction.objects.filter(pk=row.pk).update(settled=True)
        return waiting

    def _look(self, row: SentTransaction) -> None:
        """Note where it was mined, or that it no longer is."""
        for transaction_hash in row.hashes:
            mined = self.destination.mined(transaction_hash)
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
        row.save(
            update_fields=[
                "mined_hash", "mined_block", "succeeded", "gas_used", "gas_price", "data_fee",
                "sent",
            ]
        )  # fmt: skip

    def _send_again(self, row: SentTransaction) -> None:
        now = shared_now()
        if row.sent is not None and now < row.sent + SENT_AGAIN_AFTER:
            return
        if row.sent is not None and now >= row.signed + REPLACED_AFTER * len(row.hashes):
            self._replace(row)
        self._send(row)

    def _send(self, row: SentTransaction) -> None:
        try:
            self.destination.send(bytes.fromhex(row.raw))
        except Underpriced:
            pass  # it waits, and is replaced by a dearer one when it has waited long enough
        except NonceUsed:
            self._see_who_used_it(row)
            return
        row.sent = shared_now()
        SentTransaction.objects.filter(pk=row.pk).update(sent=row.sent)

    def _see_who_used_it(self, row: SentTransaction) -> None:
        """One of ours that was mined meanwhile, or something that the key signed elsewhere."""
        if any(self.destination.mined(each) for each in row.hashes):
            return
        if self.destination.nonce(row.sender) > row.nonce:
            row.settled, row.succeeded = True, False
            row.save(update_fields=["settled", "succeeded"])

    def _replace(self, row: SentTransaction) -> None:
        """The same call at a higher fee; whichever of them is mined, it is mined once."""
        now = self.destination.fees()
        dearest = max(now.dearest, int(row.max_fee, 16) * 9 // 8 + 1)  # what pools take for it
        fees = Fees(dearest, min(max(now.priority * 9 // 8, dearest // 8), dearest))
        was = parts_of(bytes.fromhex(row.raw))
        signed = self.signer.sign(was.chain_id, was.nonce, was.to, was.data, was.gas_limit, fees)
        row.raw, row.hashes = signed.raw.hex(), [*row.hashes, signed.hash]
        row.max_fee = f"{dearest:064x}"
        with durably():
            row.save(update_fields=["raw", "hashes", "max_fee"])


def _note_whose_it_is(job: BlockJob, call: Call, row: SentTransaction) -> None:
    """For the pages, and for who bears which share."""
    queries = Query.objects.filter(job=job, ended=False)
    of_header = queries.filter(account="", header_transaction=None)
    if call.header_weight:
        of_header.update(header_transaction=row, weight=call.header_weight)
    if call.proves_header:
        queries.filter(header_transaction=None).update(header_transaction=row)
    weights = {f"0x{account.hex()}": weight for account, weight in call.accounts.items()}
    mine = [query for query in queries if query.account.lower() in weights]
    for query in mine:
        query.account_transaction = row
        query.weight = weights[query.account.lower()]
    Query.objects.bulk_update(mine, ["account_transaction", "weight"], batch_size=200)


def unsettled(job: BlockJob) -> list[SentTransaction]:
    return list(SentTransaction.objects.filter(job=job, settled=False).order_by("nonce"))
