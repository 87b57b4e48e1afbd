"""Batches that no prover takes before all provers are up.

They start one after the other. What the first had done by the time of the last would not be
measured, and the more provers there are the more it would be.
"""

from datetime import timedelta

from django.db.models import F

from queries.models import Batch
from queries.pipeline.clock import shared_now

FOREVER = timedelta(days=365)


def hold_back() -> None:
    """All that were submitted, before the first prover starts."""
    Batch.objects.update(look_again=shared_now() + FOREVER)


def let_go() -> None:
    """As they were: due since they were submitted."""
    Batch.objects.update(look_again=F("submitted"))
