"""Who bears what of the transactions that were mined: each query its share by bytes."""

from collections import defaultdict

from django.db import transaction
from django.db.models import Q

from queries.models import Batch, BlockJob, Query, SentTransaction


def share_costs(job: BlockJob) -> None:
    """What queries of mined transactions cost; a fact that was there already cost nothing."""
    for row in SentTransaction.objects.filter(job=job, gas_used__isnull=False):
        with transaction.atomic():
            _share(row)


def _share(row: SentTransaction) -> None:
    price = (row.gas_used or 0) * int(row.gas_price or "0", 16) + int(row.data_fee or "0", 16)
    unpaid = Query.objects.filter(cost="")
    of_header = Q(header_transaction=row, account="")
    sharing = list(unpaid.filter(Q(account_transaction=row) | of_header)) or list(
        # Whose facts were there already, but for the header.
        unpaid.filter(header_transaction=row, account_transaction=None)
    )
    whole = sum(query.weight for query in sharing)
    spent: dict[str, int] = defaultdict(int)
    for query in sharing:
        share = price * query.weight // whole if whole else price // len(sharing)
        query.cost = f"{share:064x}"
        spent[query.batch_id] += share
    Query.objects.bulk_update(sharing, ["cost"], batch_size=200)
    for batch in Batch.objects.filter(pk__in=spent).select_for_update():
        batch.spent = f"{int(batch.spent, 16) + spent[batch.pk]:064x}"
        batch.save(update_fields=["spent"])
