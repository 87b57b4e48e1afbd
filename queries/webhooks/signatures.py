"""Sign webhooks as Standard Webhooks 1.0 describes."""

import base64
import hmac

from django.conf import settings
from django.utils.crypto import salted_hmac

from accounts.models import Account
from queries.models import WebhookPost

ID_HEADER = "webhook-id"
TIME_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
PREFIX = "whsec_"
SALT = "queries.webhooks.deliver"


def webhook_secret(account: Account) -> str:
    """The secret that signs the account's webhooks. Derived from SECRET_KEY, and not stored."""
    return PREFIX + base64.b64encode(_signing_key(account, settings.SECRET_KEY)).decode()


def _signing_key(account: Account, secret_key: str) -> bytes:
    return salted_hmac(SALT, str(account.pk), secret=secret_key, algorithm="sha256").digest()


def signature_headers(post: WebhookPost, timestamp: int, body: bytes) -> dict[str, str]:
    """Sign with each former key too, because receivers change their secret later."""
    content = f"{post.pk}.{timestamp}.".encode() + body
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    signatures = [hmac.digest(_signing_key(post.owner, key), content, "sha256") for key in keys]
    return {
        ID_HEADER: post.pk,
        TIME_HEADER: str(timestamp),
        SIGNATURE_HEADER: " ".join(f"v1,{base64.b64encode(s).decode()}" for s in signatures),
    }
