"""Read and store receipts of transactions, and count their costs once they are final."""

from collections.abc import Mapping
from typing import NamedTuple

from django.db import transaction

from queries.chain.answers import TransactionReceipt
from queries.chain.client import ChainClient
from queries.chain.node_pool import Poll
from queries.database.clock import shared_now
from queries.database.daily_counts import GAS, add_counts, route_gas_key
from queries.models import ChainCost, JobTransaction, SentTransaction

# The receipt columns of a transaction that is not mined.
NOT_MINED: Mapping[str, object] = {
    "mined_hash": "", "mined_block": None, "succeeded": None,
    "gas_used": None, "gas_price": "", "data_fee": "",
}  # fmt: skip


class SeenReceipt(NamedTuple):
    """What a node says of a transaction; a quorum has to agree on it."""

    receipt: TransactionReceipt
    is_deep: bool  # at the operator's depth, for the head that we know and for the node's own


ReceiptPoll = Poll[SeenReceipt | None]


def receipt_poll(destination: ChainClient, transaction_hash: str, head: int) -> ReceiptPoll:
    return destination.poll(_read_receipt, transaction_hash, head=head)


def _read_receipt(node: ChainClient, transaction_hash: str, *, head: int) -> SeenReceipt | None:
    receipt, depth = node.receipt(transaction_hash), node.chain.depth
    if receipt is None:
        return None
    is_deep = receipt.block + depth - 1 <= head  # its own block is 1 deep
    if is_deep and depth > 1:  # otherwise a node that has the block is as far
        is_deep = receipt.block + depth - 1 <= node.head(known_final=0).number
    return SeenReceipt(receipt, is_deep)


def store_receipt(row: SentTransaction, *, confirmed: bool = False) -> bool:
    """Store the row's receipt columns. If another worker has confirmed or replaced the transaction
    since the row was read, read it again and return False.
    """
    unchanged = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, confirmed=False)
    columns = {name: getattr(row, name) for name in (*NOT_MINED, "nonce_used_block", "sent_at")}
    if unchanged.update(confirmed=confirmed, **columns):
        row.confirmed = confirmed
        return True
    row.refresh_from_db()
    return False


def lock_costs(chain: int) -> ChainCost:
    """Lock the chain's costs until the database transaction ends. Call it before other locks."""
    costs, _ = ChainCost.objects.select_for_update().get_or_create(chain=chain)
    return costs


def count_final_cost(row: SentTransaction) -> None:
    """Count what the transaction has cost, because its block is final."""
    with transaction.atomic():
        costs = lock_costs(row.chain)
        # Not if a reorg has undone it, or a replacement was mined instead.
        rows = SentTransaction.objects.filter(pk=row.pk, mined_hash=row.mined_hash, confirmed=True)
        if not rows.filter(final=False).update(final=True):
            return
        costs.transactions += 1
        costs.gas += row.gas_used or 0
        # Added here, because databases do not add numbers of 256 bits.
        costs.spent = f"{int(costs.spent, 16) + transaction_cost(row):064x}"
        costs.save()
        counts = {GAS: row.gas_used or 0}
        jobs = JobTransaction.objects.filter(transaction=row).order_by("job_id")
        source = jobs.values_list("job__source", flat=True).first()
        if source is not None:  # of all its jobs: they have one registry
            counts[route_gas_key(source, row.chain)] = row.gas_used or 0
        add_counts(shared_now(), counts)


def transaction_cost(row: SentTransaction) -> int:
    """Wei; 0 if it was never mined."""
    # The L1 data fee is not signed: limit it to the reserve, or one lie could spend a day's budget.
    data_fee = min(int(row.data_fee or "0", 16), int(row.max_cost, 16))
    return (row.gas_used or 0) * int(row.gas_price or "0", 16) + data_fee
