"""The costs of transactions, and the shares of the batches that pay for them.

Each transaction has a `Share` per paying batch. Until the transaction is confirmed, the share
reserves the maximum that the batch may have to pay. Afterwards it holds what the batch has paid.
The operator pays the rest, limited by `daily_budget`. Costs are counted for their chain once they
are final.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from django.db import transaction

from queries.chain import TransactionReceipt
from queries.database.clock import shared_now
from queries.database.statistics import GAS, add_counts, route_gas_key
from queries.models import Batch, ChainCost, JobTransaction, Query, SentTransaction, Share
from queries.planning.calls import PlannedCall

# The receipt columns of a transaction that is not mined.
NOT_MINED: Mapping[str, object] = {
    "mined_hash": "", "mined_block": None, "succeeded": None,
    "gas_used": None, "gas_price": "", "data_fee": "",
}  # fmt: skip


def lock_costs(chain: int) -> ChainCost:
    """Lock the chain's costs until the database transaction ends. Call it before other locks."""
    costs, _ = ChainCost.objects.select_for_update(no_key=True).get_or_create(chain=chain)
    return costs


def count_final_cost(row: SentTransaction) -> None:
    """Count what the transaction has cost, because its block is final."""
    with transaction.atomic():
        costs = lock_costs(row.chain)
        # Skip it if a reorg has undone it or a replacement was mined.
        rows = SentTransaction.objects.filter(pk=row.pk, mined_hash=row.mined_hash, confirmed=True)
        # It is never sent again, and its proofs are stored apart from it.
        if not rows.filter(final=False).update(final=True, raw=b""):
            return
        costs.transactions += 1
        costs.gas += row.gas_used or 0
        # Added here, because databases do not add numbers of 256 bits.
        costs.spent = f"{int(costs.spent, 16) + transaction_cost(row):064x}"
        costs.save()
        counts = {GAS: row.gas_used or 0}
        jobs = JobTransaction.objects.filter(transaction=row).order_by("job_id")
        source = jobs.values_list("job__source", flat=True).first()
        if source is not None:  # the same for all its jobs: they have one registry
            counts[route_gas_key(source, row.chain)] = row.gas_used or 0
        add_counts(shared_now(), counts)


def transaction_cost(row: SentTransaction) -> int:
    """The cost in wei; 0 if the transaction was never mined."""
    # The signature does not cap the L1 data fee. Cap it at `max_cost`, or a lying node could
    # exhaust the daily budget.
    data_fee = min(int(row.data_fee or "0", 16), int(row.max_cost, 16))
    return (row.gas_used or 0) * int(row.gas_price or "0", 16) + data_fee


def split_among_batches(
    call: PlannedCall, cost: int, paying_queries: Mapping[int, Sequence[Query]]
) -> dict[str, int]:
    """Split the call's cost among the batches that pay for it; `paying_queries` are by job key.

    First split the cost by the weights of the pieces, then each piece's cost by the weights of each
    batch's queries in it. Split equally if the piece has none of their facts, or for a preparation.
    """
    if not call.pieces:
        batch_ids = dict.fromkeys(
            query.batch_id for queries in paying_queries.values() for query in queries
        )
        return dict(zip(batch_ids, split(cost, [1] * len(batch_ids)), strict=True))
    shares: dict[str, int] = defaultdict(int)
    piece_costs = split(cost, [piece.weight for piece in call.pieces])
    for piece, piece_cost in zip(call.pieces, piece_costs, strict=True):
        queries = paying_queries[piece.job_key]
        weights = dict.fromkeys((query.batch_id for query in queries), 0)
        if len(weights) > 1:
            for query, weight in zip(queries, piece.query_weights(queries), strict=True):
                weights[query.batch_id] += weight
        if not any(weights.values()):
            weights = dict.fromkeys(weights, 1)
        for batch_id, part in zip(weights, split(piece_cost, weights.values()), strict=True):
            shares[batch_id] += part
    return shares


def split(amount: int, weights: Collection[int]) -> list[int]:
    """Split the whole amount in proportion to the weights."""
    total = sum(weights) or 1
    bounds = [amount * weight // total for weight in accumulate(weights, initial=0)]
    return [end - start for start, end in pairwise(bounds)]


def lock_batches(ids: Iterable[str]) -> list[Batch]:
    """Lock batches until the database transaction ends. Call it before locking jobs and queries."""
    return list(Batch.objects.filter(pk__in=set(ids)).order_by("pk").select_for_update(no_key=True))


def remaining_fees(batches: Iterable[Batch]) -> dict[str, int]:
    """The fee of each batch, by id, less what it has paid and what its unconfirmed shares reserve.

    It may be negative.
    """
    fees_left = {batch.pk: int(batch.fee, 16) for batch in batches}
    for share in Share.objects.filter(batch__in=fees_left):
        fees_left[share.batch_id] -= int(share.paid or share.max_cost, 16)
    return fees_left


def cheapest_receipt(receipts: Iterable[TransactionReceipt | None]) -> TransactionReceipt | None:
    """Of equal receipts, return the one with the lowest data fee; None if there is none."""
    return min(filter(None, receipts), key=lambda receipt: receipt.cost, default=None)


def set_receipt(row: SentTransaction, receipt: TransactionReceipt) -> bool:
    """Set the row's receipt columns without storing them. Returns whether they change."""
    previous = [getattr(row, name) for name in NOT_MINED]
    row.mined_block, row.succeeded = receipt.block, receipt.succeeded
    # At most what was signed, if only one node answers.
    row.gas_used = min(receipt.gas_used, row.gas_limit)
    row.gas_price = f"{min(receipt.gas_price, int(row.max_fee, 16)):064x}"
    row.data_fee = f"{receipt.data_fee:064x}"
    return previous != [getattr(row, name) for name in NOT_MINED]


def store_receipt(row: SentTransaction, *, confirmed: bool = False) -> bool:
    """Store the row's receipt columns. If another worker has confirmed, reopened or replaced the
    transaction since the row was read, read it again and return False.
    """
    unchanged_rows = SentTransaction.objects.filter(
        pk=row.pk, raw=row.raw, confirmed=row.confirmed, final=False
    )
    columns = {name: getattr(row, name) for name in (*NOT_MINED, "nonce_used_block")}
    if unchanged_rows.update(confirmed=confirmed, **columns):
        row.confirmed = confirmed
        return True
    row.refresh_from_db()
    return False


def close_and_charge(row: SentTransaction, *, free: bool) -> None:
    """Close a transaction that is deep enough or will never be mined, and charge its batches. Call
    it again if a reorg changes the receipt: the shares are overwritten.

    A batch pays at most its fee. On a `free` destination, which accepts batches without a fee, its
    share of the whole cost is recorded. If a reorg undoes the transaction, its batches stay charged
    until it is mined again.
    """
    with transaction.atomic():
        shares = list(Share.objects.filter(transaction=row).order_by("pk"))
        batches = lock_batches(share.batch_id for share in shares)
        if not store_receipt(row, confirmed=True):
            return
        row.job_links.update(open=False)
        payments = dict.fromkeys((batch.pk for batch in batches), 0)
        paid_shares = Share.objects.filter(batch__in=payments).exclude(paid="")
        other_shares = paid_shares.exclude(transaction=row)
        for batch_id, amount in other_shares.values_list("batch", "paid"):
            payments[batch_id] += int(amount, 16)
        fees_left = {batch.pk: int(batch.fee, 16) - payments[batch.pk] for batch in batches}
        parts = split(transaction_cost(row), [int(share.max_cost, 16) for share in shares])
        for share, part in zip(shares, parts, strict=True):
            wei = part if free else min(part, max(fees_left[share.batch_id], 0))
            share.paid = f"{wei:064x}"
            payments[share.batch_id] += wei
        Share.objects.bulk_update(shares, ["paid"])
        Batch.objects.bulk_update(
            [Batch(id=batch_id, spent=f"{wei:064x}") for batch_id, wei in payments.items()],
            ["spent"],
        )
