"""Who vouched for the block hashes of a batch, from the transactions that recorded them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from queries.models import Query, SentTransaction
from queries.planning.known_blocks import recorded_hashes
from queries.reading.batches import BatchView, first_hash
from queries.sources import Registry, Voucher
from queries.statuses import StepName

MAX_BLOCKS = 600  # of a batch
MAX_RECORDS = 1_000  # at or above a batch's lowest block


@dataclass(frozen=True, slots=True)
class VouchedHash:
    """A recorded hash, from which the proofs of blocks at or below it begin."""

    block: int
    voucher: Voucher
    transaction_hash: str


def read_vouchers(batch: BatchView, registry: Registry) -> tuple[VouchedHash, ...]:
    """The recorded hashes for those blocks of the batch whose hash is known, newest block first.
    Empty if this server did not have the registry record them.
    """
    known_at = StepName.BLOCKHASH_AVAILABLE.completed_column
    known = Query.objects.filter(batch=batch.id, source=registry.source, block__isnull=False)
    known = known.filter(**{f"{known_at}__isnull": False}).order_by("block")
    columns = ("block", known_at, "header_transaction__hops", "account_transaction__hops")
    blocks = list(known.values_list(*columns).distinct()[:MAX_BLOCKS])
    if not blocks:
        return ()
    rows = recorded_hashes(registry).filter(
        voucher__isnull=False,
        recorded_block__gte=blocks[0][0],
        signed_at__lte=max(moment for _, moment, *_ in blocks),
    )
    records = list(rows.order_by("recorded_block", "pk")[:MAX_RECORDS])
    used: dict[int, SentTransaction] = {}
    for block, _, *hops in blocks:
        reach = registry.history_ring if any(hops) else 0
        if record := _used_record(records, block, reach):
            used[record.pk] = record
    return tuple(
        VouchedHash(record.recorded_block or 0, voucher, first_hash(record))
        for record in reversed(used.values())
        if (voucher := stored_voucher(record))
    )


def _used_record(
    records: Sequence[SentTransaction], block: int, reach: int
) -> SentTransaction | None:
    """The record that `planning.anchors` begins a proof of the block from: the nearest one at or
    above it; if it hops, the newest one within a hop's reach.
    """
    numbers = [record.recorded_block or 0 for record in records]
    nearest = bisect_left(numbers, block)
    index = max(bisect_right(numbers, block + reach) - 1, nearest) if reach else nearest
    return records[index] if index < len(records) else None


def stored_voucher(record: SentTransaction) -> Voucher | None:
    """Who vouches for the hash that the transaction records, if that is stored."""
    members = record.voucher
    return Voucher(**members | {"signers": tuple(members["signers"])}) if members else None
