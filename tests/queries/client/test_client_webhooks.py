"""The client accepts a webhook call only as the server signed it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from queries.client.python import WebhookNotGenuineError, verify_webhook

pytestmark = pytest.mark.no_database
SECRET = "whsec_bxwNWrfpTzKI0aBb4sR6k9DhbxwNWrfpTzKI0aBb4sQ="
BODY = json.dumps({"event": "01J2", "text": "é"})


def headers(age: int = 0) -> dict[str, str]:
    sent = datetime.now(UTC) - timedelta(seconds=age)
    return {
        "Webhook-Id": "01J2",
        "Webhook-Timestamp": str(int(sent.timestamp())),
        "Webhook-Signature": f"v1,AAAA {Webhook(SECRET).sign('01J2', sent, BODY)}",
    }


def test_a_genuine_webhook_is_read() -> None:
    assert verify_webhook(BODY.encode(), headers(), SECRET) == json.loads(BODY)


@pytest.mark.parametrize(
    ("body", "sent", "secret"),
    [
        (f"{BODY} ", headers(), SECRET),
        (BODY, headers(), "whsec_AAAA"),
        (BODY, headers(), "whsec_é"),
        (BODY, headers() | {"Webhook-Id": "01J3"}, SECRET),
        (BODY, headers() | {"Webhook-Signature": "v1,AAAA v2,é"}, SECRET),
        (BODY, headers(age=301), SECRET),
        (BODY, {}, SECRET),
    ],
)
def test_a_webhook_that_is_not_genuine_is_refused(
    body: str, sent: dict[str, str], secret: str
) -> None:
    with pytest.raises(WebhookNotGenuineError):
        verify_webhook(body.encode(), sent, secret)
