"""The later API of the retired service, for clients of that one: requests, queries, actions.

It has no fees, so what a request may cost is bounded by the operator's daily budget alone.
"""

import re

from django.http import HttpRequest, HttpResponse

from accounts.errors import Refusal
from accounts.models import ApiKey
from queries.api.answers import (
    Alive,
    LaterAction,
    LaterActions,
    LaterQueries,
    LaterQuery,
    RequestTaken,
    answer,
)
from queries.api.request_parts import json_body
from queries.api.views import GREATEST_PLACE, submitted
from queries.errors import FEE_MISSING, no_such_batch
from queries.reading import batches as reading
from queries.reading.views import BatchView, QueryView, StepView
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import LaterRequest, read_body
from queries.schema.places import WHOLE_BODY
from queries.statuses import BatchStatus, StepStatus

DESTINATION = "destination_chain_id"
NO_CEILING = 2**256 - 1  # wei
WAITING = "PENDING"
_QUERY_ID = re.compile(r"([0-9A-Z]{26})-([0-9]{1,9})")


def submit_request(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    content = json_body(request, limits.body_bytes)
    name = read_body(LaterRequest, content).destination_chain_id
    place = WHOLE_BODY.inside(DESTINATION)
    chain = routes.chains[read_chain(name, place, routes)]
    if not chain.free and chain.most_a_day is None:
        raise Refusal(
            FEE_MISSING,
            f"Proving on {chain.name} costs money, and requests of this form offer no fee. Submit "
            "it to /submit-batch-query, or ask the operator for a daily budget (`most_a_day`).",
            path=DESTINATION,
        )
    fee = "0" if chain.free else str(NO_CEILING)
    asked = {**content, "destinationChainId": str(chain.id), "fee": fee}  # type: ignore[dict-item]
    del asked[DESTINATION]
    batch = submitted(key, asked, None, routes, limits)
    return answer(RequestTaken(status=BatchStatus(batch.status), request_id=batch.id))


def get_queries(_request: HttpRequest, _key: ApiKey, request_id: str) -> HttpResponse:
    shown = _batch(request_id, "request_id")
    page = reading.queries_of(shown, first=0, most=GREATEST_PLACE)
    return answer(LaterQueries(queries=[_query(shown, each) for each in page.queries]))


def get_actions(_request: HttpRequest, _key: ApiKey, query_id: str) -> HttpResponse:
    match = _QUERY_ID.fullmatch(query_id)
    if match is None:
        raise no_such_batch(query_id, "query_id")
    shown = _batch(match[1], "query_id")
    query = reading.query_at(shown, int(match[2]))
    if query is None:
        raise no_such_batch(query_id, "query_id")
    return answer(LaterActions(actions=[_action(shown, query, each) for each in query.steps]))


def is_alive(_request: HttpRequest) -> HttpResponse:
    return answer(Alive(message="Alive!"))


def _batch(batch_id: str, path: str) -> BatchView:
    shown = reading.batch(batch_id)
    if shown is None:
        raise no_such_batch(batch_id, path)
    return shown


def _query(shown: BatchView, query: QueryView) -> LaterQuery:
    last = query.steps[-1]
    return LaterQuery(
        internal_id=f"{shown.id}-{query.place}",
        status=_status(shown, last) or BatchStatus.IN_PROGRESS.value,
        typ="ACCOUNT" if query.account or query.name else "HEADER",
        created_at=shown.submitted,
        completed_at=last.completed,
    )


def _action(shown: BatchView, query: QueryView, step: StepView) -> LaterAction:
    return LaterAction(
        internal_id=f"{shown.id}-{query.place}-{step.name}",
        status=_status(shown, step) or step.status or WAITING,
        typ=step.name,
        created_at=step.began,
        completed_at=step.completed,
        transaction_hash=step.transaction_hash or None,
    )


def _status(shown: BatchView, step: StepView) -> str:
    """COMPLETED for a completed step, REJECTED for others of a rejected batch; else empty."""
    if step.status is StepStatus.COMPLETED:
        return StepStatus.COMPLETED.value
    return shown.status.value if shown.status is BatchStatus.REJECTED else ""
