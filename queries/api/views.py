"""The endpoints. The key that a request shows is all that says who asks; cookies count nothing."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import Refusal
from accounts.key_check import with_api_key
from accounts.models import ApiKey
from accounts.site_address import site_address
from queries.api.answers import answer, told_batch, told_queries
from queries.api.bodies import json_body
from queries.api.parameters import CURSOR, LIMIT, cursor, flag, malformed, number
from queries.api.submitting import submitted
from queries.cancellation import cancel
from queries.errors import MISSING_FIELD, no_such_batch
from queries.intake import IDEMPOTENCY_KEY
from queries.reading import batches as reading
from queries.routes import Chain, Routes
from queries.schema.batch_rules import BatchLimits
from queries.schema.wording import listed
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
    page = f"{site_address(request)}/explorer/query/{batch.id}"
    return answer({"internalId": batch.id, "page": page, "warnings": batch.warnings})


@csrf_exempt
@require_safe
@with_api_key
def batch_query_status(request: HttpRequest, _key: ApiKey) -> HttpResponse:
    return answer(_status(request))


@csrf_exempt
@require_safe
@with_api_key
def batch_query(request: HttpRequest, _key: ApiKey, batch: str) -> HttpResponse:
    """The same at an address of the batch's own, with the members that some clients read there."""
    told = _status(request, batch)
    beside = {"id": batch, "status": told["queryStatus"], "data": told.get("queries")}
    return answer(told | {"batchQuery": beside})


@csrf_exempt
@require_POST
@with_api_key
def cancel_batch(_request: HttpRequest, key: ApiKey, batch: str) -> HttpResponse:
    cancel(key.owner, batch)
    shown = reading.batch(batch)
    return answer(told_batch(shown) if shown else {})


def _status(request: HttpRequest, in_path: str | None = None) -> dict[str, object]:
    """Of any batch: whoever knows its id may read it."""
    details = flag(request, DETAILS, default=True)
    first = number(request, FROM_QUERY, 0, least=0, most=GREATEST_PLACE)
    batch_id = _asked_id(request) if in_path is None else in_path
    shown = reading.batch(batch_id)
    if shown is None:
        raise no_such_batch(batch_id, BATCH_ID if in_path is None else "batch")
    told = told_batch(shown)
    if details:
        told |= told_queries(reading.queries_of(shown, first=first, most=QUERIES_SHOWN))
    return told


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
        {
            "originChainId": str(source),
            "destinationChainId": str(destination),
            "origin": _about(routes.chains[source]),
            "destination": _about(routes.chains[destination]),
            "kind": registry.kind.value,
            "registry": registry.address,
        }
        for (source, destination), registry in sorted(routes.registries.items())
    ]
    return answer({"connections": connections})


def _about(chain: Chain) -> dict[str, object]:
    return {"name": chain.name, "aliases": list(chain.aliases)}


def _asked_id(request: HttpRequest) -> str:
    if BATCH_ID not in request.GET:
        raise Refusal(
            MISSING_FIELD,
            f"{BATCH_ID} is missing: the internalId that submitting answered.",
            path=BATCH_ID,
        )
    return request.GET[BATCH_ID]


def _asked_status(request: HttpRequest) -> BatchStatus | None:
    text = request.GET.get(STATUS)
    if text is None:
        return None
    if text not in BatchStatus.values:
        raise malformed(STATUS, text, f"one of {listed(BatchStatus.values)}")
    return BatchStatus(text)
