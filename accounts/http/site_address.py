"""The address of this service in its responses."""

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest


def site_address(request: HttpRequest) -> str:
    """SITE_URL; if it is guessed, the request's address, because a demo may use another port."""
    if not settings.SITE_URL_IS_GUESSED:
        return str(settings.SITE_URL)
    try:
        return f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:
        return str(settings.SITE_URL)
