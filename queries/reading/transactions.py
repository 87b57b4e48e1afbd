"""A transaction that was sent: what it was for, what became of it, what it cost."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from queries.models import Query, SentHash, SentTransaction, Share, TransactionOfJob
from queries.reading.lines import QueryLine, line_of, with_lines
from queries.reading.slices import Cursor, Slice, slice_of

MOST_JOBS = 100
MOST_BATCHES = 100


@dataclass(frozen=True, slots=True)
class ServedBlock:
    """A block that it was sent for."""

    source: int
    number: int
    brought_header: bool


@dataclass(frozen=True, slots=True)
class ServedBatch:
    """A batch that it was sent for, with what this batch paid for it."""

    id: str
    share: int | None  # wei, once it is confirmed


@dataclass(frozen=True, slots=True)
class TransactionView:
    """One nonce of ours, under whichever hash it was asked for."""

    key: int
    chain: int
    hash: str  # which was mined, or the newest
    hashes: tuple[str, ...]  # all that were sent under the nonce, oldest first
    sender: str
    nonce: int
    status: str
    mark: str
    block: int | None
    gas_limit: int
    gas_used: int | None
    gas_price: int | None
    data_fee: int
    cost: int | None
    signed: datetime
    brings_hash: bool
    blocks: tuple[ServedBlock, ...]
    batches: tuple[ServedBatch, ...]
    more_batches: int


def transaction(chain: int, transaction_hash: str) -> TransactionView | None:
    """In three statements. The hash is one of those that were sent, in lower case."""
    found = (
        SentHash.objects.filter(hash=transaction_hash, transaction__chain=chain)
        .select_related("transaction")
        .defer("transaction__raw")
        .first()
    )
    return _view(found.transaction) if found else None


def queries_of_transaction(
    shown: TransactionView, cursor: Cursor | None, most: int
) -> Slice[QueryLine]:
    """What it proved: accounts' facts, and header fields where it brought the header."""
    of_a_header = Q(header_transaction=shown.key, account="", name="")
    rows = Query.objects.filter(Q(account_transaction=shown.key) | of_a_header)
    return slice_of(with_lines(rows), ("id",), cursor, most, line_of)


def _view(row: SentTransaction) -> TransactionView:
    mined = row.mined_block is not None
    status, mark = _standing(row)
    price = int(row.gas_price, 16) if mined and row.gas_price else None
    data_fee = int(row.data_fee, 16) if mined and row.data_fee else 0
    cost = None if price is None else (row.gas_used or 0) * price + data_fee
    batches = _batches(row)
    return TransactionView(
        key=row.pk,
        chain=row.chain,
        hash=row.mined_hash or row.hashes[-1],
        hashes=tuple(row.hashes),
        sender=row.sender,
        nonce=row.nonce,
        status=status,
        mark=mark,
        block=row.mined_block,
        gas_limit=row.gas_limit,
        gas_used=row.gas_used,
        gas_price=price,
        data_fee=data_fee,
        cost=cost,
        signed=row.signed,
        brings_hash=row.brings_hash,
        blocks=_blocks(row),
        batches=batches[:MOST_BATCHES],
        more_batches=max(len(batches) - MOST_BATCHES, 0),
    )


def _standing(row: SentTransaction) -> tuple[str, str]:
    if row.mined_block is None:
        if row.settled:
            return "never mined: its nonce was used by another", "rejected"
        return ("sent, not mined yet" if row.sent else "signed, not sent yet"), "moving"
    if row.succeeded is False:
        return "mined, and failed", "rejected"
    return ("mined and confirmed" if row.settled else "mined, being confirmed"), "proven"


def _blocks(row: SentTransaction) -> tuple[ServedBlock, ...]:
    jobs = TransactionOfJob.objects.filter(transaction=row).order_by("job_id")
    columns = ("job__source", "job__block", "proves_header")
    return tuple(ServedBlock(*each) for each in jobs.values_list(*columns)[:MOST_JOBS])


def _batches(row: SentTransaction) -> tuple[ServedBatch, ...]:
    shares = Share.objects.filter(transaction=row).order_by("batch")
    return tuple(
        ServedBatch(batch, int(paid, 16) if paid and row.settled else None)
        for batch, paid in shares.values_list("batch", "paid")
    )
