"""The retired service's second-generation API, which has no fees: requests, queries, actions."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from pydantic import ConfigDict, Field

from accounts.models import ApiKey
from queries import reading
from queries.api import batches, examples
from queries.api.endpoint import SUBMISSION_ERRORS, Link, Parameter, endpoint, path_parameter
from queries.api.request_parts import json_body, number_parameter
from queries.api.responses import (
    BATCH_ID,
    ApiModel,
    BaseSubmissionResponse,
    Id,
    Moment,
    TransactionHash,
    enum_schema,
)
from queries.compat.submission import submit_without_fee
from queries.error_codes import EndpointCode, batch_not_found
from queries.ids import ID_PATTERN
from queries.reading import BatchView
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import Blocks, BlocksBody, DestinationField, WebhookField, read_body
from queries.schema.json_schema import text_schema
from queries.schema.paths import WHOLE_BODY
from queries.sources import Routes
from queries.statuses import BatchStatus, StepName

DESTINATION = "destination_chain_id"
QUERY_ID_PATTERN = f"{ID_PATTERN[:-1]}-[0-9]{{1,9}}$"  # a batch's id and a query's position
_QUERY_ID = re.compile(QUERY_ID_PATTERN)
_ACTION_ID_PATTERN = f"{QUERY_ID_PATTERN[:-1]}-({'|'.join(StepName)})$"
QueryId = Annotated[str, text_schema(QUERY_ID_PATTERN, f"{BATCH_ID}-0")]
ActionId = Annotated[str, text_schema(_ACTION_ID_PATTERN, f"{BATCH_ID}-0-INITIAL_STATE")]


class SecondGenerationRequest(BlocksBody):
    """A request of the retired service's second-generation API, which has no fee."""

    destination_chain_id: DestinationField
    data: Blocks
    webhook: WebhookField


class LaterSubmissionResponse(BaseSubmissionResponse):
    model_config = ConfigDict(alias_generator=None)
    status: BatchStatus = Field(examples=["RECEIVED"])
    request_id: Id


class _LaterProgress(ApiModel):
    """A query or an action, with the cause if it is FAILED."""

    model_config = ConfigDict(alias_generator=None)
    message: str = Field(default="", description="The reason, if it is FAILED.")
    code: str = Field(default="", description="One of the codes of a batch, if it is FAILED.")
    retryable: bool = Field(default=False, description="If it is FAILED.")


class LaterQueryResponse(_LaterProgress):
    internal_id: QueryId
    status: Annotated[str, enum_schema(["COMPLETED", "FAILED", "IN_PROGRESS"])]
    typ: Literal["ACCOUNT", "HEADER"]
    created_at: Moment
    completed_at: Moment | None = Field(description="When it was COMPLETED or FAILED.")


class LaterQueryListResponse(ApiModel):
    model_config = ConfigDict(alias_generator=None)
    queries: list[LaterQueryResponse]
    next_query: int | None = Field(
        description="The `fromQuery` of the next page; null if there is none.", examples=[None]
    )


class LaterActionResponse(_LaterProgress):
    internal_id: ActionId
    status: Annotated[str, enum_schema(["COMPLETED", "FAILED", "IN_PROGRESS", "PENDING"])]
    typ: StepName
    created_at: Moment | None
    completed_at: Moment | None = Field(description="When it was COMPLETED or FAILED.")
    transaction_hash: TransactionHash | None


class LaterActionListResponse(ApiModel):
    actions: list[LaterActionResponse]


class AliveResponse(ApiModel):
    message: Literal["Alive!"]


@endpoint(
    "POST",
    "/submit-request",
    "Submit without a fee, for clients of the hosted service's second-generation API. Accepted "
    "where proving is free or has a daily budget.",
    body=SecondGenerationRequest,
    body_examples={
        "One balance": {"destination_chain_id": examples.DESTINATION, "data": examples.BALANCE}
    },
    own_errors=(*SUBMISSION_ERRORS, EndpointCode.FEE_MISSING),
    links=(Link("getQueries", "request_id", "/request_id"),),
)
def submit_request(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> LaterSubmissionResponse:
    content = json_body(request, limits.body_bytes)
    name = read_body(SecondGenerationRequest, content).destination_chain_id
    chain = routes.chains[read_chain(name, WHOLE_BODY.child(DESTINATION), routes)]
    rest = dict(content)  # type: ignore[call-overload]
    del rest[DESTINATION]
    batch = submit_without_fee(key, rest, chain, routes, limits)
    status, members = BatchStatus(batch.status), batches.submission_members(request, batch)
    return LaterSubmissionResponse(status=status, request_id=batch.id, **members)


@endpoint(
    "GET",
    "/get_queries/{request_id}",
    "The queries of a request. The request is DONE if all are COMPLETED, and has failed if any "
    "is FAILED.",
    parameters=(
        path_parameter("request_id", "The `request_id` from the response to the submission."),
        Parameter(
            batches.FIRST_QUERY,
            f"Send 0 to get the first {batches.QUERIES_PER_PAGE:,} queries, then the "
            "`next_query` of each response. Without it the response has all queries.",
            {"type": "integer", "minimum": 0, "maximum": batches.MAX_POSITION},
        ),
    ),
    own_errors=(EndpointCode.PARAMETER_MALFORMED, EndpointCode.BATCH_UNKNOWN),
    links=(Link("getActions", "query_id", "/queries/0/internal_id"),),
)
def get_queries(request: HttpRequest, _key: ApiKey, request_id: str) -> LaterQueryListResponse:
    """All queries without `fromQuery`, because clients that know no pages need all of them."""
    name, maximum = batches.FIRST_QUERY, batches.MAX_POSITION
    first = number_parameter(request, name, 0, minimum=0, maximum=maximum)
    batch = batches.find_batch(request_id, "request_id")
    limit = batches.QUERIES_PER_PAGE if name in request.GET else maximum
    progress = reading.query_progress(batch, first=first, limit=limit + 1)
    queries = [
        LaterQueryResponse(
            internal_id=f"{batch.id}-{query.position}",
            typ="ACCOUNT" if query.is_account_query else "HEADER",
            created_at=batch.submitted_at,
            **_status_members(batch, query.completed_at, has_failed=query.has_failed),
        )
        for query in progress[:limit]
    ]
    next_query = progress[limit].position if len(progress) > limit else None
    return LaterQueryListResponse(queries=queries, next_query=next_query)


@endpoint(
    "GET",
    "/get_actions/{query_id}",
    "One action for each step of a query; PENDING until the step begins.",
    parameters=(path_parameter("query_id", "The internal_id of a query.", QUERY_ID_PATTERN),),
    own_errors=(EndpointCode.BATCH_UNKNOWN,),
)
def get_actions(_request: HttpRequest, _key: ApiKey, query_id: str) -> LaterActionListResponse:
    if not _QUERY_ID.fullmatch(query_id):
        raise batch_not_found(query_id, "query_id")
    batch_id, _, position = query_id.partition("-")
    batch = batches.find_batch(batch_id, "query_id")
    query = reading.find_query(batch, int(position))
    if query is None:
        raise batch_not_found(query_id, "query_id")
    has_failed = any(step.error for step in query.steps)
    actions = [
        LaterActionResponse(
            internal_id=f"{batch.id}-{query.position}-{step.name}",
            typ=step.name,
            created_at=step.began_at,
            transaction_hash=step.transaction_hash or None,
            **(
                _status_members(batch, step.completed_at, has_failed=has_failed)
                if step.began_at
                else {"status": "PENDING", "completed_at": None}
            ),
        )
        for step in query.steps
    ]
    return LaterActionListResponse(actions=actions)


@endpoint("GET", "/is-alive", "Answers while the server runs.", needs_key=False)
def is_alive(_request: HttpRequest) -> AliveResponse:
    return AliveResponse(message="Alive!")


def _status_members(
    batch: BatchView, completed_at: datetime | None, *, has_failed: bool
) -> dict[str, Any]:
    """The status of a query or step that has begun, and when it ended; this API has FAILED in place
    of REJECTED.

    A query without an error of its own ends with its batch, and can be submitted again.
    """
    if completed_at:
        return {"status": "COMPLETED", "completed_at": completed_at}
    if batch.error is None:
        return {"status": "IN_PROGRESS", "completed_at": None}
    cause = batch.error
    message = cause.sentence if has_failed else f"Another query failed: {cause.sentence}"
    retryable = cause.retryable or not has_failed
    return {
        "status": "FAILED",
        "completed_at": batch.ended_at,
        "message": message,
        "code": cause.code,
        "retryable": retryable,
    }
