"""The secret that an account's webhooks are signed with.

Derived like the secrets of keys: shown whenever its owner asks, and in no database.
"""

from django.conf import settings
from django.utils.crypto import salted_hmac

from accounts.models import Account

PREFIX = "whs_"


def webhook_secret(account: Account) -> str:
    derived = salted_hmac(
        "accounts.webhook_secrets", str(account.pk), secret=settings.SECRET_KEY, algorithm="sha256"
    )
    return PREFIX + derived.hexdigest()[:40]
