"""The heads of the source chains, kept fresh also while nobody asks for anything.

Submitting compares with them and asks no node; so a head that is old says nothing, and one that
is a second old says nearly everything.
"""

from datetime import timedelta

from queries.chain.heads import ChainHead
from queries.models import Head
from queries.pipeline.clock import shared_now

LOOKED_AT_EVERY = timedelta(seconds=1)


def record(chain_id: int, head: ChainHead) -> None:
    now = shared_now()
    Head.objects.update_or_create(
        chain=chain_id,
        defaults={
            "number": head.number,
            "timestamp": head.timestamp,
            "final_number": head.final_number,
            "recorded": now,
            "looked_at": now,
        },
    )


def claim(chain_id: int) -> bool:
    """Whether it is ours to look now: one worker a second is enough, however many there are."""
    now = shared_now()
    due = Head.objects.filter(chain=chain_id, looked_at__lte=now - LOOKED_AT_EVERY)
    if due.update(looked_at=now):
        return True
    return not Head.objects.filter(chain=chain_id).exists()
