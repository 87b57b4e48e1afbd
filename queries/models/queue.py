"""Queue rows: what workers claim, with a lease.

A worker claims a `LeasedRow` by locking it and writing a lease with a token. Its later writes check
the token. Any worker may claim a row whose lease has expired.
"""

from typing import ClassVar

from django.db import models
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest
from django.utils import timezone

IS_QUEUED = models.Q(due_at__isnull=False)  # condition of the indexes that claims use


class LeasedRow(models.Model):
    """A queue row. One worker at a time holds its lease."""

    lease_token = models.CharField(max_length=32, default="", editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    # When a worker may claim it; null: not queued.
    due_at = models.DateTimeField(null=True, db_index=True, editable=False)
    waits_for = models.TextField(default="")  # a sentence for people
    wait_code = models.CharField(max_length=40, default="")  # the code of that reason
    failures = models.PositiveIntegerField(default=0)  # consecutive
    # From when `batch_max_age` counts; waits that do not count towards it move this forward.
    provable_since = models.DateTimeField(null=True)
    order: ClassVar[Combinable] = models.F("due_at")  # of claims

    class Meta:
        abstract = True


class FairlyQueued(LeasedRow):
    """A queue row that is scheduled fairly between accounts: see `intake.submit.next_turn`."""

    turn = models.DateTimeField(default=timezone.now)
    # By the later of both, so that a row which is retried often goes behind the others.
    order: ClassVar[Combinable] = Greatest("turn", "due_at")

    class Meta:
        abstract = True
