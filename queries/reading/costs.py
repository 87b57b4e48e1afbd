"""What a batch pays for: its shares of the transactions that prove it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from queries.models import Share


@dataclass(frozen=True, slots=True)
class TransactionShare:
    """A batch's share of a transaction, in proportion to what it reserved for it."""

    hash: str  # the mined one, or else the newest that was sent
    signed_at: datetime
    is_preparation: bool  # it proves no requested fact
    hops: int
    other_batches: int  # that share it
    percent: float
    gas: int | None  # None before it is mined
    reserved: int  # wei
    paid: int | None  # wei; None before it is confirmed

    @property
    def amount(self) -> int:
        return self.reserved if self.paid is None else self.paid


def transaction_shares(batch_id: str) -> tuple[TransactionShare, ...]:
    """The batch's shares, oldest first, read in two statements."""
    shares = list(
        Share.objects.filter(batch=batch_id)
        .select_related("transaction")
        .defer("transaction__raw")
        .order_by("transaction")
    )
    reserved = defaultdict[int, list[int]](list)
    sharing = Share.objects.filter(transaction__in=[share.transaction_id for share in shares])
    for transaction, amount in sharing.values_list("transaction", "max_cost"):
        reserved[transaction].append(int(amount, 16))
    return tuple(_transaction_share(share, reserved[share.transaction_id]) for share in shares)


def _transaction_share(share: Share, all_reserved: Sequence[int]) -> TransactionShare:
    row, reserved, total = share.transaction, int(share.max_cost, 16), sum(all_reserved)
    return TransactionShare(
        hash=row.mined_hash or row.hashes[-1],
        signed_at=row.signed_at,
        is_preparation=row.is_preparation,
        hops=row.hops,
        other_batches=len(all_reserved) - 1,
        percent=100 * reserved / total if total else 100.0,
        gas=None if row.gas_used is None else row.gas_used * reserved // (total or 1),
        reserved=reserved,
        paid=int(share.paid, 16) if share.paid else None,
    )
