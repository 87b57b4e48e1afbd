"""What a mined transaction's gas cost a piece, as far as that need not be taken on a node's word.

It follows from the base fee of the block, whose header hashes to what the receipt names, and from
what was signed. How much gas was used, and what an OP-stack chain took for its L1, follow from
nothing that could be checked without all receipts of the block: the first is at most what the
transaction has, and all of it is borne up to the batches' fees and no further.
"""

from queries.chain.receipts import InItsBlock, Mined
from queries.chain.signed_parts import fees_of
from queries.models import SentTransaction


def note(row: SentTransaction, transaction_hash: str, mined: Mined) -> None:
    """What a receipt says, in a row that is not stored yet."""
    row.mined_hash, row.mined_block = transaction_hash, mined.block
    row.succeeded, row.gas_used = mined.succeeded, mined.gas_used
    row.gas_price = f"{mined.gas_price:064x}"
    row.data_fee = f"{mined.data_fee:064x}"


def note_in_its_block(row: SentTransaction, shown: InItsBlock) -> None:
    """The same, at the price that its block allows."""
    note(row, row.mined_hash, shown.mined)
    row.gas_price = f"{gas_price_by_its_block(row, shown):064x}"


def gas_price_by_its_block(row: SentTransaction, shown: InItsBlock) -> int:
    """At most the base fee and the tip, and never more than was signed; at least the base fee."""
    if shown.base_fee is None:
        return shown.mined.gas_price  # within what was signed, as every receipt that is taken
    signed = fees_of(row.raw)
    # Of one that was replaced, only the newest is kept; it offers the most.
    tip = signed.priority if row.mined_hash == row.hashes[-1] else signed.dearest
    price = max(shown.mined.gas_price, shown.base_fee)
    return min(price, shown.base_fee + tip, signed.dearest)
