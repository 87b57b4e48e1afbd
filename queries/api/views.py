"""The endpoints. The key that a request shows is all that says who asks; cookies count nothing."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.key_check import with_api_key
from accounts.models import ApiKey
from queries.api.answers import answer, told_batch, told_queries
from queries.api.bodies import json_body
from queries.api.parameters import CURSOR, LIMIT, cursor, flag, malformed, number
from queries.api.submitting import submitted
from queries.errors import BatchUnknown, MissingField
from queries.intake import IDEMPOTENCY_KEY
from queries.reading import batches as reading
from queries.routes import Routes
from queries.schema.batch_rules import BatchLimits
from queries.schema.wording import listed, quoted
from queries.statuses import BatchStatus

BATCH_ID, DETAILS, FROM_QUERY = "batchQueryId", "details", "fromQuery"
STATUS = "status"
QUERIES_SHOWN = 100  # so that whoever polls without `details=0` costs little too
GREATEST_PLACE = 10**9 - 1
BATCHES_SHOWN, MOST_BATCHES = 50, 100


@csrf_exempt
@require_POST
@with_api_key
def submit_batch_query(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    content = json_body(request, limits.body_bytes)
    batch = submitted(key, content, request.headers.get(IDEMPOTENCY_KEY), routes, limits)
    return answer({"internalId": batch.id, "warnings": batch.warnings})


@csrf_exempt
@require_safe
@with_api_key
def batch_query_status(request: HttpRequest, _key: ApiKey) -> HttpResponse:
    """Of any batch: whoever knows its id may read it."""
    details = flag(request, DETAILS, default=True)
    first = number(request, FROM_QUERY, 0, least=0, most=GREATEST_PLACE)
    shown = reading.batch(_asked_id(request))
    if shown is None:
        raise BatchUnknown(
            f"No query found with the {BATCH_ID} {quoted(request.GET[BATCH_ID])}.", path=BATCH_ID
        )
    told = told_batch(shown)
    if details:
        told |= told_queries(reading.queries_of(shown, first=first, most=QUERIES_SHOWN))
    return answer(told)


@csrf_exempt
@require_safe
@with_api_key
def batch_queries(request: HttpRequest, key: ApiKey) -> HttpResponse:
    """Those of the key's owner alone."""
    page = reading.batches_of(
        key.owner,
        status=_asked_status(request),
        before=cursor(request),
        most=number(request, LIMIT, BATCHES_SHOWN, least=1, most=MOST_BATCHES),
    )
    return answer({"batches": [told_batch(each) for each in page.batches], CURSOR: page.next})


@csrf_exempt
@require_safe
def chain_connections(_request: HttpRequest, routes: Routes) -> HttpResponse:
    connections = [
        {"originChainId": str(source), "destinationChainId": str(destination)}
        for source, destination in sorted(routes.registries)
    ]
    return answer({"connections": connections})


def _asked_id(request: HttpRequest) -> str:
    if BATCH_ID not in request.GET:
        raise MissingField(
            f"{BATCH_ID} is missing: the internalId that submitting answered.", path=BATCH_ID
        )
    return request.GET[BATCH_ID]


def _asked_status(request: HttpRequest) -> BatchStatus | None:
    text = request.GET.get(STATUS)
    if text is None:
        return None
    if text not in BatchStatus.values:
        raise malformed(STATUS, text, f"one of {listed(BatchStatus.values)}")
    return BatchStatus(text)
