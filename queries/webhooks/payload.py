"""The body of a webhook, and its signatures (Standard Webhooks 1.0)."""

import base64
import hmac
import json

from django.conf import settings
from django.db import transaction
from django.utils.crypto import salted_hmac

from accounts.models import Account
from queries.database.leases import Lease
from queries.facts import display_values
from queries.models import Batch, Query, WebhookDelivery
from queries.statuses import BatchStatus

ID_HEADER, TIME_HEADER, SIGNATURE_HEADER = "webhook-id", "webhook-timestamp", "webhook-signature"
PREFIX = "whsec_"
SALT = "queries.webhooks.deliver"
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
    queries = list(Query.objects.filter(batch=batch).order_by("place")[: MAX_QUERIES + 1])
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
                "values": display_values(query.all_values)
                if batch.status == BatchStatus.DONE
                else None,
            }
            for query in queries[:MAX_QUERIES]
        ],
        # The `fromQuery` with which the status lists the rest.
        "nextQuery": queries[MAX_QUERIES].place if len(queries) > MAX_QUERIES else None,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def webhook_secret(account: Account) -> str:
    """The secret that signs the account's webhooks. Derived from SECRET_KEY, and not stored."""
    return PREFIX + base64.b64encode(_signing_key(account, settings.SECRET_KEY)).decode()


def _signing_key(account: Account, secret_key: str) -> bytes:
    return salted_hmac(SALT, str(account.pk), secret=secret_key, algorithm="sha256").digest()


def signature_headers(delivery: WebhookDelivery, timestamp: int, body: bytes) -> dict[str, str]:
    """Sign with each former key too, because receivers change their secret later."""
    content = f"{delivery.pk}.{timestamp}.".encode() + body
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    signatures = [hmac.digest(_signing_key(delivery.owner, key), content, "sha256") for key in keys]
    return {
        ID_HEADER: delivery.pk,
        TIME_HEADER: str(timestamp),
        SIGNATURE_HEADER: " ".join(f"v1,{base64.b64encode(s).decode()}" for s in signatures),
    }
