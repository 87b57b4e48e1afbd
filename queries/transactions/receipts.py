"""Store what receipts say of transactions, and what transactions have cost once they are final."""

from collections.abc import Mapping

from django.db import transaction

from queries.database.clock import shared_now
from queries.database.daily_counts import GAS, count
from queries.models import ChainCost, SentTransaction

# The receipt's columns of a row that is not mined.
NOT_MINED: Mapping[str, object] = {
    "mined_hash": "", "mined_block": None, "succeeded": None,
    "gas_used": None, "gas_price": "", "data_fee": "",
}  # fmt: skip


# What transactions have cost


def note_receipt(row: SentTransaction, *, settled: bool = False) -> bool:
    """Store what its receipt says, or that it has none. If another worker has settled or replaced
    it since the row was read, read it again and return False.
    """
    as_it_was = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, settled=False)
    seen = {name: getattr(row, name) for name in (*NOT_MINED, "nonce_used", "sent")}
    if as_it_was.update(settled=settled, **seen):
        row.settled = settled
        return True
    row.refresh_from_db()
    return False


def lock_costs(chain: int) -> ChainCost:
    """Lock the chain's costs until the database transaction ends; before all other locks."""
    cost, _ = ChainCost.objects.select_for_update().get_or_create(chain=chain)
    return cost


def note_final(row: SentTransaction) -> None:
    """Its block is final: count what it has cost. Databases do not add amounts of 256 bits."""
    with transaction.atomic():
        whole = lock_costs(row.chain)
        # Not if it was undone meanwhile, or a replacement was mined instead.
        rows = SentTransaction.objects.filter(pk=row.pk, mined_hash=row.mined_hash, settled=True)
        if not rows.filter(final=False).update(final=True):
            return
        whole.transactions += 1
        whole.gas += row.gas_used or 0
        whole.spent = f"{int(whole.spent, 16) + price_of(row):064x}"
        whole.save()
        count(shared_now(), {GAS: row.gas_used or 0})


def price_of(row: SentTransaction) -> int:
    """Wei; nothing of one that was never mined.

    The L1 data fee is not part of the signed transaction. So a node's figure counts only up to
    the row's `most`; otherwise one lie could spend a whole day's budget.
    """
    for_its_l1 = min(int(row.data_fee or "0", 16), int(row.most, 16))
    return (row.gas_used or 0) * int(row.gas_price or "0", 16) + for_its_l1
