"""Cancel a batch, until a transaction for it is signed."""

from django.db import transaction

from accounts.http.errors import RefusalError
from accounts.models import Account
from queries import transitions
from queries.error_codes import EndpointCode, batch_not_found
from queries.ids import is_ulid
from queries.models import Batch, Query
from queries.statuses import ENDED_STATUSES

CANCELLED = "cancelled"


def cancel(owner: Account, batch_id: str) -> None:
    """Reject the batch. Signing locks the same row and checks its status."""
    with transaction.atomic():
        own_batches = Batch.objects.filter(owner=owner, pk=batch_id if is_ulid(batch_id) else None)
        batch = own_batches.select_for_update(no_key=True).first()
        if batch is None:
            raise batch_not_found(batch_id, "batch")
        if batch.status in ENDED_STATUSES:
            raise RefusalError(
                EndpointCode.BATCH_ENDED, f"This batch is {batch.status} already.", path="batch"
            )
        if batch.shares.exists():
            raise RefusalError(
                EndpointCode.TRANSACTION_SIGNED,
                "A transaction for this batch is already signed, so the batch can no longer be "
                "cancelled.",
                path="batch",
            )
        step = transitions.first_open_step(Query.objects.filter(batch=batch, has_ended=False))
        failure = transitions.Failure(CANCELLED, "Its owner cancelled it.", step, retryable=False)
        transitions.reject([batch.pk], failure)
