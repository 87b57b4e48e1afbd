"""A message that a page shows once after a form, kept in a cookie that is as safe as the session's.

Django takes the session's Secure, HttpOnly and SameSite for it, but has its name fixed.
"""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.http import HttpRequest


class MessageCookie(CookieStorage):
    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.cookie_name = settings.MESSAGE_COOKIE_NAME


class Messages(FallbackStorage):
    """What is too long for a cookie goes to the session."""

    storage_classes = (MessageCookie, SessionStorage)
