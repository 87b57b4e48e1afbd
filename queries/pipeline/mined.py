"""How far a destination has come for certain: the block that our last transaction was mined in."""

from datetime import timedelta

from queries.models import SentTransaction
from queries.pipeline.clock import shared_now

# Nodes behind one address are not further apart than this.
FURTHEST_BEHIND = timedelta(minutes=10)


def last_mined_block(chain: int, sender: str) -> int:
    """0 where none was sent lately."""
    ours = SentTransaction.objects.filter(chain=chain, sender=sender).exclude(mined_block=None)
    last = ours.order_by("-nonce").values_list("mined_block", "sent").first()
    if last is None or last[1] is None or last[1] < shared_now() - FURTHEST_BEHIND:
        return 0
    return last[0] or 0
