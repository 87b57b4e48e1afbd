"""Endpoints about batches and their proofs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from django.http import FileResponse, HttpRequest
from pydantic import ConfigDict, Field

from accounts.http.errors import RefusalError
from accounts.http.site_address import site_address
from accounts.models import ApiKey
from accounts.wording import join_names
from queries import reading
from queries.api import responses
from queries.api.endpoint import (
    PAGE_PARAMETERS,
    SUBMISSION_ERRORS,
    Link,
    Parameter,
    endpoint,
    path_parameter,
)
from queries.api.request_parts import (
    cursor_parameter,
    flag_parameter,
    json_body,
    malformed_parameter,
    number_parameter,
    page_size,
)
from queries.api.responses import ApiModel, BlockNumber, ChainId, Id
from queries.contracts.create2 import verifier_address
from queries.error_codes import EndpointCode, ProofCode, RequestCode, batch_not_found
from queries.ids import ID_PATTERN
from queries.intake.cancel import CANCELLED, cancel
from queries.intake.submit import IDEMPOTENCY_KEY, MAX_IDEMPOTENCY_KEY_LENGTH, submit_batch
from queries.models import Batch
from queries.proving import BUNDLE_FORMAT, BUNDLE_VERSION
from queries.reading import (
    BatchView,
    DeliveryView,
    QueryPage,
    QueryView,
    build_proof_file,
    read_deliveries,
    requested_data,
)
from queries.schema.batch_checks import BatchLimits
from queries.schema.bodies import BatchRequest, slot_word
from queries.sources import Routes
from queries.statuses import ENDED_STATUSES, BatchStatus

Deliveries = Mapping[str, Sequence[DeliveryView]]  # by the batch's id
BATCH_ID, DETAILS, FIRST_QUERY = "batchQueryId", "details", "fromQuery"
STATUS = "status"
QUERIES_PER_PAGE = 100  # so that polls without `details=0` cost little too
MAX_POSITION = 10**9 - 1


Hash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$", examples=[f"0x{64 * '1'}"])]


class ProofBlockResponse(ApiModel):
    """A block, what is proven of it, and the proofs; the guide *Proofs* lists all members."""

    model_config = ConfigDict(extra="allow")
    block: BlockNumber
    block_hash: Hash
    origin_chain_id: ChainId
    header: str = Field(description="RLP.", examples=["0xf90211a0…"])
    calls: list[str] = Field(
        description="Calldata of `prove()`. Each call is valid on its own; together they prove the "
        "facts.",
        examples=[["0xf90211a0…"]],
    )


class ProofResponse(ApiModel):
    """A proof file; `queries/proving/bundles.py` writes it in its one canonical form."""

    batch: Id
    blocks: list[ProofBlockResponse] = Field(description="Sorted by source chain and block number.")
    destination_chain_id: ChainId
    digest: Hash = Field(description="Detects damage, not forgery: a forger can compute it again.")
    format: Annotated[str, Field(json_schema_extra={"enum": [BUNDLE_FORMAT]})]
    version: Annotated[int, Field(json_schema_extra={"enum": [BUNDLE_VERSION]})] = Field(
        description="The version of the format. Refuse any other."
    )


_BATCH = path_parameter("batch", "The `internalId` from the response to the submission.")
_DETAILS = Parameter(
    DETAILS,
    "0 leaves out the queries; use it for polling.",
    {"type": "string", "enum": ["0", "1"], "default": "1"},
)
_FIRST_QUERY = Parameter(
    FIRST_QUERY,
    f"A page has at most {QUERIES_PER_PAGE:,} queries; send its `nextQuery` here to get "
    "the next ones. Without it, GET /batch-query-status returns the first page, and GET "
    "/batch-queries/{batch} all queries.",
    {"type": "integer", "minimum": 0, "maximum": MAX_POSITION, "default": 0},
)


@endpoint(
    "POST",
    "/submit-batch-query",
    "Submit a batch query. It is stored whole or not at all.",
    parameters=(
        Parameter(
            IDEMPOTENCY_KEY,
            "If the key is sent again with the same batch, the first batch's id is returned "
            "and nothing is stored.",
            {"type": "string", "pattern": f"^[!-~]{{1,{MAX_IDEMPOTENCY_KEY_LENGTH}}}$"},
            location="header",
        ),
    ),
    body=BatchRequest,
    own_errors=(
        *SUBMISSION_ERRORS,
        EndpointCode.FEE_TOO_LOW,
        EndpointCode.IDEMPOTENCY_KEY_MALFORMED,
        EndpointCode.IDEMPOTENCY_KEY_REUSED,
    ),
    links=(Link("batchQueryStatus", BATCH_ID, "/internalId"),),
)
def submit_batch_query(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> responses.SubmissionResponse:
    content = json_body(request, limits.body_bytes)
    idempotency_key = request.headers.get(IDEMPOTENCY_KEY)
    batch = submit_batch(key.owner, content, idempotency_key, routes, limits)
    members = submission_members(request, batch)
    return responses.SubmissionResponse(internal_id=batch.id, **members)


def submission_members(request: HttpRequest, batch: Batch) -> dict[str, Any]:
    """The members that both kinds of submissions have in their responses."""
    page = f"{site_address(request)}/explorer/query/{batch.id}"
    warnings = [responses.WarningResponse(**warning) for warning in batch.warnings]
    return {"page": page, "warnings": warnings}


@endpoint(
    "GET",
    "/batch-query-status",
    "A batch's progress, step by step; once it is DONE, also the proven values.",
    parameters=(
        Parameter(
            BATCH_ID,
            "The `internalId` from the response to the submission.",
            {"type": "string", "pattern": ID_PATTERN},
            required=True,
        ),
        _DETAILS,
        _FIRST_QUERY,
    ),
    own_errors=(
        RequestCode.MISSING_FIELD,
        EndpointCode.PARAMETER_MALFORMED,
        EndpointCode.BATCH_UNKNOWN,
    ),
    links=(Link("batchProof", "batch", "/internalId"),),
)
def batch_query_status(
    request: HttpRequest, _key: ApiKey, routes: Routes
) -> responses.StatusResponse:
    members, _ = _read_status(
        request, routes, request.GET.get(BATCH_ID), BATCH_ID, QUERIES_PER_PAGE
    )
    return responses.StatusResponse(**members)


@endpoint(
    "GET",
    "/batch-queries/{batch}",
    "As GET /batch-query-status, with the id in the path. `batchQuery` and `results` are for "
    "existing clients.",
    parameters=(_BATCH, _DETAILS, _FIRST_QUERY),
    own_errors=(EndpointCode.PARAMETER_MALFORMED, EndpointCode.BATCH_UNKNOWN),
    links=(Link("batchProof", "batch", "/internalId"),),
)
def batch_query(
    request: HttpRequest, _key: ApiKey, batch: str, routes: Routes
) -> responses.BatchQueryResponse:
    """The status, with the members that existing clients read at this address.

    Without `fromQuery` it has all queries, because those clients know no pages.
    """
    limit = QUERIES_PER_PAGE if FIRST_QUERY in request.GET else MAX_POSITION
    members, page = _read_status(request, routes, batch, "batch", limit)
    batch_data = responses.BatchDataResponse(
        id=batch, status=members["query_status"], data=requested_data(page.queries)
    )
    results = _results(page, is_done=members["status"] == BatchStatus.DONE)
    return responses.BatchQueryResponse(**members, batch_query=batch_data, results=results)


@endpoint(
    "GET",
    "/batch-queries/{batch}/proof",
    "The proof of a DONE batch in one file. `tacitus verify_proof` checks it without a "
    "database or network; `tacitus publish_proof` sends the facts to a registry with any "
    "signer's key. Headers are in RLP and accounts have the form that eth_getProof returns, so "
    "other tools can check them too; `calls` holds calldata for prove(). Anyone who knows the "
    "batch's id may fetch it; the batch's page has the same file without an API key.",
    parameters=(_BATCH,),
    own_errors=(EndpointCode.BATCH_UNKNOWN, *ProofCode),
    file=ProofResponse,
)
def batch_proof(_request: HttpRequest, _key: ApiKey, batch: str, routes: Routes) -> FileResponse:
    """The proof file of any batch: its id is enough to read it."""
    response = FileResponse(build_proof_file(batch, routes), content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


@endpoint(
    "POST",
    "/batch-queries/{batch}/cancel",
    "Cancel one of your batches, if no transaction for it is signed yet. It ends REJECTED, "
    "with the code `cancelled`.",
    parameters=(_BATCH,),
    own_errors=(
        EndpointCode.BATCH_UNKNOWN,
        EndpointCode.BATCH_ENDED,
        EndpointCode.TRANSACTION_SIGNED,
    ),
    example_changes={
        "queryStatus": "REJECTED",
        "status": "REJECTED",
        "rejection": {
            "code": CANCELLED,
            "message": "Its owner cancelled it.",
            "step": "INITIAL_STATE",
            "retryable": False,
        },
        "info": ["Its owner cancelled it."],
    },
)
def cancel_batch(_request: HttpRequest, key: ApiKey, batch: str) -> responses.BatchResponse:
    cancel(key.owner, batch)
    view = find_batch(batch, "batch")
    return _batch_response(view, _deliveries([view]))


def find_batch(batch_id: str, path: str) -> BatchView:
    """Return the batch, whoever owns it, or refuse the value at `path`."""
    batch = reading.batch_view(batch_id)
    if batch is None:
        raise batch_not_found(batch_id, path)
    return batch


@endpoint(
    "GET",
    "/batch-queries",
    "The batches that the key's owner submitted, newest first.",
    parameters=(
        Parameter(
            STATUS, "Only batches in this state.", {"type": "string", "enum": BatchStatus.values}
        ),
        *PAGE_PARAMETERS,
    ),
    own_errors=(EndpointCode.PARAMETER_MALFORMED,),
    links=(Link("batchQueryStatus", BATCH_ID, "/batches/0/internalId"),),
)
def batch_queries(request: HttpRequest, key: ApiKey) -> responses.BatchListResponse:
    status, cursor = request.GET.get(STATUS), cursor_parameter(request)
    if status is not None and status not in BatchStatus.values:
        raise malformed_parameter(STATUS, status, f"one of {join_names(BatchStatus.values)}")
    wanted = reading.BatchFilter(owner=key.owner, status=status or "")
    page = reading.listed_batches(wanted, cursor=cursor, limit=page_size(request))
    deliveries = _deliveries(page.rows)
    batches = [_batch_response(batch, deliveries) for batch in page.rows]
    return responses.BatchListResponse(batches=batches, cursor=page.older or None)


# From views to responses


def _read_status(
    request: HttpRequest, routes: Routes, batch_id: str | None, path: str, limit: int
) -> tuple[dict[str, Any], QueryPage]:
    """The members of a `StatusResponse`, and the page of queries. Any key may read any batch."""
    details = flag_parameter(request, DETAILS)
    first = number_parameter(request, FIRST_QUERY, 0, minimum=0, maximum=MAX_POSITION)
    if batch_id is None:
        raise RefusalError(
            RequestCode.MISSING_FIELD,
            f"{path} is missing: the internalId from the response to the submission.",
            path=path,
        )
    batch = find_batch(batch_id, path)
    members, page = _batch_members(batch, _deliveries([batch])), QueryPage((), None)
    if details:
        page = reading.query_page(batch, first=first, limit=limit)
        members["queries"] = [_query_response(batch, query, routes) for query in page.queries]
        members["next_query"] = page.next
    return members, page


def _deliveries(batches: Iterable[BatchView]) -> Deliveries:
    """The deliveries of those batches that have some, by the batch's id."""
    ids = [batch.id for batch in batches if batch.delivery_count]
    return read_deliveries(ids) if ids else {}


def _batch_response(batch: BatchView, deliveries: Deliveries) -> responses.BatchResponse:
    return responses.BatchResponse(**_batch_members(batch, deliveries))


def _batch_members(batch: BatchView, deliveries: Deliveries) -> dict[str, Any]:
    members: dict[str, Any] = {
        # Existing clients know three of the five states.
        "query_status": (
            batch.status if batch.status in ENDED_STATUSES else BatchStatus.IN_PROGRESS
        ).value,
        "internal_id": batch.id,
        "status": batch.status,
        "destination_chain_id": batch.destination,
        "fee": batch.fee,
        "spent": batch.spent,
        "submitted": batch.submitted_at,
        "ended": batch.ended_at,
        "waits_for": batch.waits_for,
        "wait_code": batch.waits_for,
    }
    if not batch.proves:
        members["prove"] = False
    if batch.id in deliveries:
        members["deliveries"] = [
            responses.DeliveryResponse.model_validate(view) for view in deliveries[batch.id]
        ]
    if batch.error and batch.status is BatchStatus.REJECTED:
        # Not `error`: existing clients throw on that before they read `queryStatus`.
        members["rejection"] = responses.RejectionResponse.model_validate(batch.error)
        members["info"] = [batch.error.sentence]
    return members


def _results(page: QueryPage, *, is_done: bool) -> dict[str, Any]:
    """The values under the keys of the request, once the batch is DONE: existing clients may take
    some values for all.
    """
    results: dict[str, Any] = {}
    for query in page.queries:
        values = query.values if is_done else {}
        blocks = results.setdefault(query.chain_key, {})
        result = blocks.setdefault(query.selector, {"accounts": {}})
        if query.header:
            result["header"] = values
        if query.event_request:
            result["events"] = values
        for key, slots in query.account_keys.items():
            names = {prop.name: prop.name for prop in query.props}
            names |= {slot: f"0x{slot_word(slot).hex()}" for slot in slots}
            result["accounts"][key] = {
                spelling: values[name] for spelling, name in names.items() if values
            }
    return results


def _query_response(batch: BatchView, query: QueryView, routes: Routes) -> responses.QueryResponse:
    """Set `registry` to the contract that holds the values; empty if there are none.

    It is the recipient of the query's transaction, or else the route's contract.
    """
    route_registry = routes.registries.get((query.source, batch.destination))
    address = query.registry or (route_registry.address if route_registry else "")
    if query.event_request and route_registry and not query.registry:
        address = verifier_address(route_registry.address)
    return responses.QueryResponse.model_validate(
        replace(query, registry=address if query.values else "")
    )
