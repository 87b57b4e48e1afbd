"""Verify webhook calls (standardwebhooks.com)."""

import base64
import hmac
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from queries.client.python.errors import WebhookNotGenuineError

TOLERANCE = 300  # seconds


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str) -> dict[str, Any]:
    """Check the signature of a webhook call, and return its event.

    `body` is as received, and `secret` that of GET /webhook-secret. Raises WebhookNotGenuineError.
    """
    values = {name.lower(): value for name, value in headers.items()}
    call_id, timestamp = values.get("webhook-id", ""), values.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE:
        raise WebhookNotGenuineError("The call was not sent within the last five minutes.")
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:  # also of binascii
        raise WebhookNotGenuineError("The secret is not one of GET /webhook-secret.") from None
    digest = hmac.digest(key, f"{call_id}.{timestamp}.".encode() + body, "sha256")
    expected_signature = f"v1,{base64.b64encode(digest).decode()}".encode()
    signatures = values.get("webhook-signature", "").encode().split(b" ")
    if not any(hmac.compare_digest(signature, expected_signature) for signature in signatures):
        raise WebhookNotGenuineError("The call has no valid signature.")
    event: dict[str, Any] = json.loads(body)
    return event
