"""What transactions have cost, counted for their chain once they are final."""

from django.db import transaction

from queries.database.clock import shared_now
from queries.database.daily_counts import GAS, add_counts, route_gas_key
from queries.models import ChainCost, JobTransaction, SentTransaction


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
