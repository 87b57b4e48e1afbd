"""The body of a webhook."""

import json
from typing import Any

from django.db import transaction

from queries.database.leases import Lease
from queries.models import Batch, WebhookPost
from queries.reading import batch_view, query_page, read_deliveries
from queries.statuses import BatchStatus

MAX_QUERIES = 1_000


def store_body(lease: Lease[WebhookPost]) -> bytes:
    """Store the body at the first attempt; later attempts and replays send the same bytes."""
    post, batch, feed = lease.row, lease.row.batch, lease.row.feed
    with transaction.atomic():
        if batch:
            # `transitions.finish` locks it too: it changes facts before this, or sees the body.
            Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
        lease.extend()
        content: dict[str, Any] = {"event": post.pk}
        if batch:
            content |= _batch_content(post, batch)
        elif feed:
            content |= {"type": "feed.paused", "feed": feed.pk, "reason": feed.reason}
        body = json.dumps(content, separators=(",", ":")).encode()
        lease.owned_rows().update(body=body)
    return body


def _batch_content(post: WebhookPost, batch: Batch) -> dict[str, Any]:
    view = batch_view(batch.pk)
    if view is None:
        raise ValueError(f"batch {batch.pk} is gone")
    page = query_page(view, first=0, limit=MAX_QUERIES)
    error = {
        "code": batch.error_code,
        "error": batch.error_sentence,
        "step": batch.error_step or None,
        "retryable": batch.error_retryable,
    }
    content: dict[str, Any] = {
        "corrects": post.corrects_id,
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
                "values": query.values or None,
            }
            for query in page.queries
        ],
        # The `fromQuery` with which the status lists the rest.
        "nextQuery": page.next,
    }
    if view.delivery_count:
        content["deliveries"] = [
            {
                "to": entry.to,
                "function": entry.function,
                "state": entry.state,
                "transactionHash": entry.transaction_hash or None,
                "error": {"code": entry.error.code, "message": entry.error.sentence}
                if entry.error
                else None,
            }
            for entry in read_deliveries([batch.pk])[batch.pk]
        ]
    return content
