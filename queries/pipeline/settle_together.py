"""Small batches that are alike are settled together: alone, each takes a prover 13 statements.

Alike are those that name blocks of one source chain by numbers that its head has reached, and
accounts by addresses: nobody is asked for each of them.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from queries import transitions
from queries.models import Batch, Query
from queries.pipeline.chains import Chains
from queries.pipeline.leases import Lease, LeaseLost, claim_beside, close_batches
from queries.pipeline.settle import attach

AT_ONCE = 50
SMALL = {"asked_queries__lte": 8, "asked_blocks__lte": 2}  # a statement for each block


def claim_alike(first: Lease[Batch], chains: Chains) -> Sequence[Lease[Batch]]:
    """The batch with others like it that are due; nothing where it is to be settled alone."""
    batch = first.row
    if batch.failed_lately:
        return ()
    named = Query.objects.filter(batch=batch, ended=False).order_by("place")
    source = named.values_list("source", flat=True).first()
    if source is None or chains.registry(source, batch.destination) is None:
        return ()
    first.asked.add(source)
    alike = _alike(source, batch.destination, chains.head(source).number)
    if not alike.filter(pk=batch.pk).exists():
        return ()
    return [first, *claim_beside(first, alike, AT_ONCE - 1)]


def settle_together(leases: Sequence[Lease[Batch]]) -> None:
    batches = [lease.row for lease in leases]
    attach(batches, _turns(batches))
    held = Batch.objects.filter(pk__in=[batch.pk for batch in batches], lease_token=leases[0].token)
    with transaction.atomic():
        # In their order, as all who lock several do.
        if len(held.order_by("pk").select_for_update()) < len(batches):
            raise LeaseLost
        transitions.accept(held)
        close_batches(held)


def _alike(source: int, destination: int, head: int) -> QuerySet[Batch]:
    by_address = Q(name="") | ~Q(account="")
    plain = Q(by_address, source=source, block__lte=head, timestamp=None)
    other = Query.objects.filter(~plain | Q(block=None), batch=OuterRef("pk"), ended=False)
    return Batch.objects.filter(~Exists(other), destination=destination, failures=0, **SMALL)


def _turns(batches: Sequence[Batch]) -> dict[tuple[int, int], datetime]:
    """By block, the earliest of those that name it."""
    by_batch = {batch.pk: batch.turn for batch in batches}
    rows = Query.objects.filter(batch__in=batches, ended=False).order_by()
    turns: dict[tuple[int, int], datetime] = {}
    for source, block, batch in rows.values_list("source", "block", "batch").distinct():
        named, turn = (source, block or 0), by_batch[batch]
        turns[named] = min(turns.get(named, turn), turn)
    return turns
