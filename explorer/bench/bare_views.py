"""What polling a status is held against: a view that does one indexed SELECT, and nothing else.

On the same server and through the same middleware: with the same key check and limit, and open.
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.key_check import with_api_key
from accounts.models import ApiKey
from queries.models import Batch

BEHIND_THE_KEY, UNPROTECTED = "bench/behind-the-key", "bench/unprotected"


@csrf_exempt
@require_safe
@with_api_key
def behind_the_key(request: HttpRequest, _key: ApiKey) -> HttpResponse:
    return _row(request)


@csrf_exempt
@require_safe
def unprotected(request: HttpRequest) -> HttpResponse:
    return _row(request)


def _row(request: HttpRequest) -> HttpResponse:
    columns = Batch.objects.values("id", "status", "destination", "submitted", "ended")
    return JsonResponse(columns.get(pk=request.GET["batchQueryId"]))
