from django.conf import settings
from django.http import HttpRequest


def page_frame(request: HttpRequest) -> dict[str, object]:
    """What `base.html` shows on every page. A refused request may not have come to its user."""
    user = getattr(request, "user", None)
    account = user if user is not None and user.is_authenticated else None
    return {
        "version": settings.VERSION,
        "account": account,
        "demo_wallet": bool(settings.DEMO_WALLET_NODE),
    }
