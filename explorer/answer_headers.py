"""The headers of SecurityMiddleware on every answer, not only on those that are made behind it.

A probe is answered before it, because it comes over http; and where it sends a request to https
and the host is a stranger's, its own refusal passes it by.
"""

from django.http import HttpRequest
from django.middleware.security import SecurityMiddleware


class AnswerHeaders(SecurityMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        """The redirect to https is left to SecurityMiddleware itself."""
