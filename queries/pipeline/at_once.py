"""Which of a job's queries a look is at: what one batch may ask for, by turns of their batches.

Any number of batches may ask for one block. All that they ask for would be held in memory at once,
and ending it would keep SQLite's one writer, so that nobody else could submit or poll.
"""

from django.conf import settings

from queries import transitions
from queries.models import BlockJob
from queries.proving.witnesses import AccountField

OF_A_QUERY = len(AccountField)  # facts beside its slots; the header's are few


def looked_at_now(job: BlockJob) -> list[int]:
    """Their keys. What is left is looked at next."""
    most = settings.BATCH_ACCOUNTS * OF_A_QUERY + settings.BATCH_SLOTS
    rows = transitions.open_queries(job).order_by("batch__turn", "pk")
    keys: list[int] = []
    for key, slots in rows.values_list("pk", "slot_count")[: most // OF_A_QUERY + 1]:
        most -= OF_A_QUERY + slots
        if keys and most < -OF_A_QUERY:  # a batch asks for its header as well
            break
        keys.append(key)
    return sorted(keys)
