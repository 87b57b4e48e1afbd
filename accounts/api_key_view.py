"""`GET /api-key`: what a key is and has done."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts import api_keys
from accounts.key_check import MINUTE, with_api_key
from accounts.models import ApiKey
from accounts.rate_limits import uses
from accounts.times import iso


@csrf_exempt
@require_safe
@never_cache
@with_api_key
def about_api_key(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    """Where clients test theirs."""
    subject = api_keys.subject(key)
    use = uses([subject])[subject]
    return JsonResponse(
        {
            "id": key.id,
            "name": key.name,
            "owner": key.owner.owner_name,
            # Another chain may have another wallet at this address.
            "ownerChainId": None if (chain := key.owner.chain_id) is None else str(chain),
            "created": iso(key.created),
            "limits": {"requests": settings.REQUESTS_PER_MINUTE, "seconds": MINUTE},
            "use": {"today": use.today, "total": use.total, "last": iso(use.last)},
        }
    )
