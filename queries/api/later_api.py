"""The later API of the retired service, for clients of that one: requests, queries, actions.

It has no fees, so what a request may cost is bounded by the operator's daily budget alone.
"""

import re
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.models import ApiKey
from accounts.shared.errors import Refusal
from queries.api import answers, batches
from queries.api.answers import answer
from queries.api.request_parts import json_body, number
from queries.config.routes import Routes
from queries.reading import batches as reading
from queries.reading.view_models import BatchView
from queries.refusals import FEE_MISSING, no_such_batch
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import LaterRequest, read_body
from queries.schema.paths import WHOLE_BODY
from queries.statuses import BatchStatus

DESTINATION = "destination_chain_id"
NO_CEILING = 2**256 - 1  # wei
PENDING = "PENDING"
_QUERY_ID = re.compile(answers.QUERY_ID_PATTERN)


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
    batch = batches.submitted(key, asked, None, routes, limits)
    status, members = BatchStatus(batch.status), batches.submission_members(request, batch)
    return answer(answers.RequestTaken(status=status, request_id=batch.id, **members))


def get_queries(request: HttpRequest, _key: ApiKey, request_id: str) -> HttpResponse:
    """All of them, unless a page is asked for: a client that knows no pages misses none."""
    first = number(request, batches.FROM_QUERY, 0, least=0, most=batches.GREATEST_PLACE)
    batch = batches.find_batch(request_id, "request_id")
    limit = batches.QUERIES_SHOWN if batches.FROM_QUERY in request.GET else batches.GREATEST_PLACE
    found = reading.query_progress(batch, first=first, most=limit + 1)
    queries = [
        answers.LaterQuery(
            internal_id=f"{batch.id}-{query.place}",
            typ="ACCOUNT" if query.is_of_account else "HEADER",
            created_at=batch.submitted,
            completed_at=query.completed,
            **_status(batch, query.completed),
        )
        for query in found[:limit]
    ]
    next_query = found[limit].place if len(found) > limit else None
    return answer(answers.LaterQueries(queries=queries, next_query=next_query))


def get_actions(_request: HttpRequest, _key: ApiKey, query_id: str) -> HttpResponse:
    if not _QUERY_ID.fullmatch(query_id):
        raise no_such_batch(query_id, "query_id")
    batch_id, _, place = query_id.partition("-")
    batch = batches.find_batch(batch_id, "query_id")
    query = reading.query_at(batch, int(place))
    if query is None:
        raise no_such_batch(query_id, "query_id")
    actions = [
        answers.LaterAction(
            internal_id=f"{batch.id}-{query.place}-{step.name}",
            typ=step.name,
            created_at=step.began,
            completed_at=step.completed,
            transaction_hash=step.transaction_hash or None,
            **(_status(batch, step.completed) if step.began else {"status": PENDING}),
        )
        for step in query.steps
    ]
    return answer(answers.LaterActions(actions=actions))


def is_alive(_request: HttpRequest) -> HttpResponse:
    return answer(answers.Alive(message="Alive!"))


def _status(batch: BatchView, completed: datetime | None) -> dict[str, Any]:
    """The status of what has begun. If it is FAILED, also the cause; REJECTED is unknown there."""
    if completed:
        return {"status": "COMPLETED"}
    if batch.error is None:
        return {"status": "IN_PROGRESS"}
    cause = batch.error
    failure = {"message": cause.sentence, "code": cause.code, "retryable": cause.retryable}
    return {"status": "FAILED", **failure}
