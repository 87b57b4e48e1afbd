"""Read receipts of transactions by quorum, and store them."""

from collections.abc import Mapping
from typing import NamedTuple

from queries.chain.answers import TransactionReceipt
from queries.chain.client import ChainClient
from queries.chain.node_pool import Poll
from queries.models import SentTransaction

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
