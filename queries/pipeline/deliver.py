"""A batch's end is posted to its webhook, again until the receiver accepts it, for about a day.

All attempts carry the same bytes and event id, so that a receiver can ignore repetitions.
"""

import json
import time
from datetime import timedelta

from django.conf import settings

from accounts.webhook_secrets import webhook_secret
from queries.fact_names import shown_values
from queries.models import Batch, Query, WebhookAttempt, WebhookDelivery
from queries.pipeline.clock import shared_now
from queries.pipeline.queue import Lease
from queries.pipeline.work import Outcome, Retry
from queries.statuses import BatchStatus
from queries.webhooks import NotDelivered, post, signature

EVENT_HEADER, SIGNATURE_HEADER = "Tacitus-Event", "Tacitus-Signature"
# After each attempt that was not accepted: about a day in all.
PAUSES = [timedelta(seconds=s) for s in (5, 30, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200)]
TAKEN = range(200, 300)
MOST_FACTS = 1_000


def deliver(lease: Lease[WebhookDelivery]) -> Outcome:
    delivery = lease.row
    batch = delivery.batch
    body = body_of(delivery)
    now = shared_now()
    headers = {
        **_asked_headers(batch),
        EVENT_HEADER: delivery.pk,
        SIGNATURE_HEADER: signature(webhook_secret(batch.owner), int(now.timestamp()), body),
    }
    begin = time.monotonic()
    answered, fault = None, ""
    try:
        answered = post(batch.webhook_url, headers, body, to_private=settings.WEBHOOKS_TO_PRIVATE)
    except NotDelivered as reason:
        fault = str(reason)
    took = int((time.monotonic() - begin) * 1_000)
    lease.keep()
    WebhookAttempt.objects.create(
        delivery=delivery, made=now, answered=answered, fault=fault, milliseconds=took
    )
    if answered in TAKEN:
        lease.held().update(delivered=now)
        return None
    # Other accounts go first for as long as this took: receivers that hang must not hold up all.
    now = shared_now()
    others = WebhookDelivery.objects.filter(owner=delivery.owner_id, look_again__lte=now)
    others.exclude(pk=delivery.pk).update(look_again=now + timedelta(milliseconds=took))
    attempts = delivery.failures + 1
    if attempts > len(PAUSES):
        return None
    return Retry(None, attempts, PAUSES[attempts - 1])  # the list of attempts says why


def _asked_headers(batch: Batch) -> dict[str, str]:
    """Those that came with the batch, in which any letters may be capitals."""
    asked = dict(batch.webhook_headers)
    names_its_kind = any(name.lower() == "content-type" for name in asked)
    return asked if names_its_kind else {"Content-Type": "application/json", **asked}


def body_of(delivery: WebhookDelivery) -> bytes:
    """The same bytes at each attempt."""
    batch = delivery.batch
    queries = list(Query.objects.filter(batch=batch).order_by("place")[: MOST_FACTS + 1])
    error = {
        "code": batch.error_code,
        "error": batch.error_sentence,
        "step": batch.error_step or None,
        "retryable": batch.error_retryable,
    }
    content = {
        "event": delivery.pk,
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
                "values": shown_values(query.words) if batch.status == BatchStatus.DONE else None,
            }
            for query in queries[:MOST_FACTS]
        ],
        # As in the status answer, which lists the queries that follow.
        "nextQuery": queries[MOST_FACTS].place if len(queries) > MOST_FACTS else None,
    }
    return json.dumps(content, separators=(",", ":")).encode()
