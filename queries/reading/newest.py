"""What was submitted last, for whoever looks in."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, IntegerField, OuterRef, Subquery

from queries.models import Batch, Query
from queries.statuses import BatchStatus


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch in a line."""

    id: str
    status: BatchStatus
    destination: int
    queries: int
    submitted: datetime


def newest_batches(most: int) -> tuple[NewBatch, ...]:
    """Newest first, in one statement that two indexes answer."""
    own = Query.objects.filter(batch=OuterRef("pk")).order_by().values("batch")
    queries = Subquery(own.annotate(count=Count("pk")).values("count"), IntegerField())
    rows = Batch.objects.annotate(whole=queries).order_by("-pk")[:most]
    return tuple(
        NewBatch(batch_id, BatchStatus(status), destination, whole or 0, submitted)
        for batch_id, status, destination, whole, submitted in rows.values_list(
            "pk", "status", "destination", "whole", "submitted"
        )
    )
