"""Whose batch is next where more is due than provers can do: accounts share them.

A batch has its turn after the time that it takes, roughly, and that of what its account has open.
So whoever asks for thousands, in one batch or in many, has them done between the few of others.
Where provers have nothing else to do, nobody waits for a turn to come.
"""

from datetime import datetime, timedelta

from django.db.models import Case, Count, F, Q, Sum, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Least

from accounts.models import Account
from queries.models import Batch

# What a prover takes, and rather more: with less, who came long ago with very much would still
# have all of it done before those who come now. Proving one account takes a node some 20 ms and a
# prover some 15, and each transaction a few blocks.
OF_A_BATCH, OF_A_QUERY = timedelta(milliseconds=200), timedelta(milliseconds=50)


def next_turn(owner: Account, now: datetime, own: int) -> datetime:
    """By all that is open, so that what is done of it no longer counts.

    `own`: how many queries it has itself. Without them the hundred blocks of one batch had kept
    everybody waiting who came after it.
    """
    waiting = Batch.objects.filter(owner=owner, ended=None)
    found = waiting.aggregate(batches=Count("*"), queries=Sum("asked_queries"))
    batches, queries = int(found["batches"]), int(found["queries"] or 0) + own
    return now + batches * OF_A_BATCH + queries * OF_A_QUERY


def turn_of_job(turn: datetime) -> Combinable:
    """Of a block that a batch with this turn waits for now: the earliest of all who wait."""
    idle = When(Q(look_again=None), then=Value(turn))
    return Case(idle, default=Least(F("turn"), Value(turn)))
