"""What `base.html` shows on every page, and the cookie of the messages it shows once."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest


class MessageCookie(CookieStorage):
    """Django takes the session's Secure, HttpOnly and SameSite for it, but has its name fixed."""

    cookie_name = settings.MESSAGE_COOKIE_NAME


def page_frame(_request: HttpRequest) -> dict[str, object]:
    return {"version": settings.VERSION}
