from django.conf import settings
from django.http import HttpRequest


def page_frame(_request: HttpRequest) -> dict[str, object]:
    """What `base.html` shows on every page."""
    return {"version": settings.VERSION}
