"""The body of a webhook."""

import json

from django.db import transaction

from queries.database.leases import Lease
from queries.facts import display_values
from queries.models import Batch, Query, WebhookDelivery
from queries.statuses import BatchStatus

MAX_QUERIES = 1_000


def store_body(lease: Lease[WebhookDelivery]) -> bytes:
    """Store the body at the first attempt; later attempts and replays send the same bytes."""
    with transaction.atomic():
        # `transitions.finish` locks the batch too: it changes facts before this, or sees the body.
        Batch.objects.select_for_update(no_key=True).get(pk=lease.row.batch_id)
        lease.extend()
        body = _build_body(lease.row)
        lease.owned_rows().update(body=body)
    return body


def _build_body(delivery: WebhookDelivery) -> bytes:
    batch = delivery.batch
    queries = list(Query.objects.filter(batch=batch).order_by("position")[: MAX_QUERIES + 1])
    error = {
        "code": batch.error_code,
        "error": batch.error_sentence,
        "step": batch.error_step or None,
        "retryable": batch.error_retryable,
    }
    content = {
        "event": delivery.pk,
        "corrects": delivery.corrects_id,
        "batchQueryId": batch.pk,
        "queryStatus": batch.status,
        "destinationChainId": str(batch.destination),
        "error": error if batch.status == BatchStatus.REJECTED else None,
        "facts": [
            {
                "originChainId": str(query.source),
                "block": None if query.block is None else str(query.block),
                "account": query.account or None,
                "name": query.name or None,
                "values": (display_values(query.all_values) or None)
                if batch.status == BatchStatus.DONE
                else None,
            }
            for query in queries[:MAX_QUERIES]
        ],
        # The `fromQuery` with which the status lists the rest.
        "nextQuery": queries[MAX_QUERIES].position if len(queries) > MAX_QUERIES else None,
    }
    return json.dumps(content, separators=(",", ":")).encode()
