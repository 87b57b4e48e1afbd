"""What is known of a destination because transactions of ours were mined there."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import QuerySet

from queries.chain.receipts import Bounds
from queries.chain.signed_parts import parts_of
from queries.models import SentTransaction
from queries.pipeline.clock import shared_now
from queries.routes import Chain

# Nodes behind one address are not further apart than this.
FURTHEST_BEHIND = timedelta(minutes=10)


def last_mined_block(chain: Chain, sender: str) -> int:
    """How far the chain has come for certain; 0 where none was sent lately. Of several nodes not by
    a receipt that is not settled: who makes one up far ahead would have all others passed over.
    """
    ours = SentTransaction.objects.filter(chain=chain.id, sender=sender)
    ours = ours.exclude(mined_block=None)
    if len(chain.nodes) > 1:
        ours = ours.filter(settled=True)
    last = ours.order_by("-nonce").values_list("mined_block", "sent").first()
    if last is None or last[1] is None or last[1] < shared_now() - FURTHEST_BEHIND:
        return 0
    return last[0] or 0


def bounds_of(row: SentTransaction) -> Bounds:
    return Bounds(row.gas_limit, int(row.max_fee, 16))


def sent_to(registry: str, rows: QuerySet[SentTransaction]) -> Iterator[int]:
    """The keys of those that went to this registry, and not to one that the route had before."""
    for key, raw in rows.values_list("pk", "raw").iterator():
        if parts_of(raw).to == registry.lower():
            yield key
