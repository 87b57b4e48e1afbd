from django.conf import settings
from django.http import HttpRequest

from explorer.health import READINESS


def page_frame(_request: HttpRequest) -> dict[str, object]:
    """What `base.html` shows on every page."""
    return {"version": settings.VERSION, "readiness": READINESS}
