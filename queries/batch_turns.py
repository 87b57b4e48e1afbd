"""The turn of a batch: accounts share provers when more is due than they can do.

A batch gets its turn after the time that it takes, roughly, and that of all its account has open.
So thousands of one account, in one batch or in many, are done between the few of others.
"""

from datetime import datetime, timedelta

from django.db.models import Count, Sum

from accounts.models import Account
from queries.models import Batch

# Rather more than a prover takes: with less, a very large batch of long ago would come before all
# new ones. Proving one account takes a node some 20 ms and a prover some 15.
OF_A_BATCH, OF_A_QUERY = timedelta(milliseconds=200), timedelta(milliseconds=50)


def next_turn(owner: Account, now: datetime, own: int) -> datetime:
    """For a new batch with `own` queries: after all that is still open of its owner."""
    waiting = Batch.objects.filter(owner=owner, ended=None)
    found = waiting.aggregate(batches=Count("*"), queries=Sum("asked_queries"))
    batches, queries = int(found["batches"]), int(found["queries"] or 0) + own
    return now + batches * OF_A_BATCH + queries * OF_A_QUERY
