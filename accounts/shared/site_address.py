"""The address of this service in its responses."""

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest


def site_address(request: HttpRequest) -> str:
    """SITE_URL, or if the operator did not set it, the address that the request was sent to.

    Otherwise links would be wrong in development, where the guessed SITE_URL has port 8000 and a
    demo may use another.
    """
    if not settings.SITE_URL_IS_GUESSED:
        return str(settings.SITE_URL)
    try:
        return f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:
        return str(settings.SITE_URL)
