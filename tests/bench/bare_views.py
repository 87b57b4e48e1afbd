"""The reference for polling: a view of one indexed SELECT on the same server.

It has the same middleware, key check and rate limit.
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.keys.check import require_api_key
from accounts.models import ApiKey
from explorer import urls
from queries.models import Batch

BARE_VIEW = "bench/bare-view"


@csrf_exempt
@require_safe
@require_api_key
def bare_view(request: HttpRequest, _key: ApiKey) -> HttpResponse:
    columns = Batch.objects.values("id", "status", "destination", "submitted_at", "ended_at")
    return JsonResponse(columns.get(pk=request.GET["batchQueryId"]))


handler400, handler500 = urls.handler400, urls.handler500
urlpatterns = [path(BARE_VIEW, bare_view), *urls.urlpatterns]
