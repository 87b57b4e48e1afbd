"""What `base.html` shows on every page, and the cookie of the messages it shows once."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest


class MessageCookie(CookieStorage):
    """Django takes the session's Secure, HttpOnly and SameSite for it, but has its name fixed."""

    cookie_name = settings.MESSAGE_COOKIE_NAME


def page_frame(request: HttpRequest) -> dict[str, object]:
    """A refused request may not have come to its user."""
    user = getattr(request, "user", None)
    account = user if user is not None and user.is_authenticated else None
    return {
        "version": settings.VERSION,
        "account": account,
        "demo_wallet": bool(settings.DEMO_WALLET_NODE),
    }
