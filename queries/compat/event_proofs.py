"""The two JSON-RPC methods of a hosted event-proof service, for its clients.

`proof_request` submits a batch for one log, and returns its job. Once the log is stored,
`proof_query` returns the argument of the EventsRouter's `validateEvent`.
"""

import re
from base64 import b64encode
from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from pydantic import ConfigDict, Field

from accounts.http.errors import BodyCode, RefusalError
from accounts.models import ApiKey
from queries.api.endpoint import endpoint, path_parameter
from queries.api.request_parts import json_body
from queries.api.responses import ApiModel
from queries.compat.peer_proofs import LogPosition, encode_stored_peer_proof
from queries.compat.submission import submit_without_fee
from queries.config.chains import Chain
from queries.error_codes import EndpointCode, RequestCode
from queries.proving import Log
from queries.reading import QueryView, query_by_pk
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import CHAIN_PATTERN, Body, Index, WholeNumber, read_body
from queries.schema.paths import WHOLE_BODY
from queries.selectors import block_selector
from queries.sources import Routes
from queries.statuses import BatchStatus

# Clients use these names, and earlier ones with this prefix.
REQUEST, QUERY, PREFIX = "proof_request", "proof_query", "polymer_"
EARLIER_NAMES = {f"{PREFIX}requestProof": REQUEST, f"{PREFIX}queryProof": QUERY}
INVALID_PARAMS, METHOD_NOT_FOUND = -32602, -32601
_JOB = re.compile("[1-9][0-9]{0,17}")  # fits a database's number


class RpcBody(Body):
    """A JSON-RPC request."""

    model_config = ConfigDict(extra="ignore")

    method: str = Field(description="`proof_request` or `proof_query`.", examples=[REQUEST])
    params: list[Any] = Field(
        description="Of `proof_request`: one object with `srcChainId`, `srcBlockNumber` and "
        "`globalLogIndex`. Of `proof_query`: the job.",
        examples=[[{"srcChainId": 11155111, "srcBlockNumber": 5186021, "globalLogIndex": 15}]],
    )
    id: Any = Field(default=None, description="Comes back in the answer.", examples=[1])


class LogParameters(Body):
    """A log of a block, counted through the block."""

    model_config = ConfigDict(extra="ignore")

    srcChainId: WholeNumber = Field(description="The log's chain.")
    srcBlockNumber: WholeNumber = Field(description="The log's block.")
    globalLogIndex: Index = Field(description="The log's index in the block.")


class JobResponse(ApiModel):
    model_config = ConfigDict(alias_generator=None)
    status: Literal["pending", "complete", "error"]
    jobID: int
    createdAt: int = Field(description="In milliseconds since 1970.")
    updatedAt: int
    proof: str = Field(default="", description="In base64, if the status is complete.")
    failureReason: str = Field(default="", description="If the status is error.")


class RpcError(ApiModel):
    code: int = Field(examples=[INVALID_PARAMS])
    message: str = Field(examples=["the chain is not configured here"])


class RpcResponse(ApiModel):
    jsonrpc: Literal["2.0"]
    id: Any = Field(examples=[1])
    result: int | JobResponse | None = Field(
        default=None, description="The job, or what became of it.", examples=[1]
    )
    error: RpcError | None = None


@endpoint(
    "POST",
    "/event-proofs/{destination}",
    "Two JSON-RPC methods, for clients of a hosted event-proof service: `proof_request` "
    "submits a log to be proven on this destination, without a fee where proving is free or "
    "has a daily budget; `proof_query` returns the proof, for the EventsRouter's "
    "`validateEvent`.",
    parameters=(path_parameter("destination", "The chain's id or alias.", CHAIN_PATTERN),),
    body=RpcBody,
    own_errors=(
        *BodyCode,
        RequestCode.MISSING_FIELD,
        RequestCode.WRONG_TYPE,
        RequestCode.CHAIN_UNSUPPORTED,
    ),
)
def event_proofs(
    request: HttpRequest, key: ApiKey, destination: str, routes: Routes, limits: BatchLimits
) -> RpcResponse:
    body = read_body(RpcBody, json_body(request, limits.body_bytes))
    method = EARLIER_NAMES.get(body.method, body.method)
    chain = routes.chains[read_chain(destination, WHOLE_BODY.child("destination"), routes)]
    try:
        if method == REQUEST:
            result: int | JobResponse = _request(key, chain, body.params, routes, limits)
        elif method == QUERY:
            result = _query(body.params)
        else:
            return _error(body, METHOD_NOT_FOUND, f"The methods are {REQUEST} and {QUERY}.")
    except RefusalError as refusal:
        return _error(body, INVALID_PARAMS, str(refusal))
    return RpcResponse(jsonrpc="2.0", id=body.id, result=result)


def _error(body: RpcBody, code: int, message: str) -> RpcResponse:
    return RpcResponse(jsonrpc="2.0", id=body.id, error=RpcError(code=code, message=message))


def _request(
    key: ApiKey, chain: Chain, params: list[Any], routes: Routes, limits: BatchLimits
) -> int:
    log = read_body(LogParameters, params[0] if params else {})
    logs = {"logs": [{"logIndex": log.globalLogIndex}]}
    data = {str(log.srcChainId): {block_selector(log.srcBlockNumber): logs}}
    batch = submit_without_fee(key, {"data": data}, chain, routes, limits)
    return batch.queries.values_list("pk", flat=True)[0]


def _query(params: list[Any]) -> JobResponse:
    """Clients keep a job as a number or as text."""
    text = str(params[0]) if params else ""
    match = query_by_pk(int(text)) if _JOB.fullmatch(text) else None
    if match is None or list(match[1].event_request) != ["logs"]:
        raise RefusalError(EndpointCode.BATCH_UNKNOWN, "No job has this number.")
    (batch, query), job = match, int(text)
    times: dict[str, Any] = {
        "createdAt": _milliseconds(batch.submitted_at),
        "updatedAt": _milliseconds(batch.ended_at or batch.submitted_at),
    }
    if batch.error:
        reason = batch.error.sentence
        return JobResponse(status="error", jobID=job, failureReason=reason, **times)
    if batch.status is not BatchStatus.DONE or not query.values:
        return JobResponse(status="pending", jobID=job, **times)
    proof = b64encode(_stored_proof(query)).decode()
    return JobResponse(status="complete", jobID=job, proof=proof, **times)


def _stored_proof(query: QueryView) -> bytes:
    event = query.events[0]
    position = LogPosition(query.source, query.block or 0, event["transactionIndex"], event["log"])
    emitter, data = bytes.fromhex(event["address"][2:]), bytes.fromhex(event["data"][2:])
    topics = tuple(bytes.fromhex(topic[2:]) for topic in event["topics"])
    return encode_stored_peer_proof(position, Log(emitter, topics, data))


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000)
