"""The address of this service, as its answers name it."""

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest


def site_address(request: HttpRequest) -> str:
    """The one that the operator set; in development, without one, where the request came to.

    The guessed SITE_URL has port 8000, and a demo may use another.
    """
    if not settings.SITE_URL_IS_GUESSED:
        return str(settings.SITE_URL)
    try:
        return f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:
        return str(settings.SITE_URL)
