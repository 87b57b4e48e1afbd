"""The table of endpoints, of which the URL patterns, OpenAPI and the docs page are made."""

from django.urls import URLPattern

from accounts.http.errors import BodyCode
from queries.api import (
    attestations,
    batches,
    estimates,
    event_proofs,
    lookups,
    openapi,
    responses,
    second_generation,
    webhooks,
)
from queries.api.endpoint import PAGE_PARAMETERS, Endpoint, Link, Parameter, path_parameter
from queries.attestations.body import AttestationBody
from queries.config.routes import Routes
from queries.error_codes import (
    AttestationCode,
    EndpointCode,
    EstimateCode,
    LookupCode,
    ProofCode,
    RequestCode,
    SubmissionCode,
)
from queries.ids import ID_PATTERN
from queries.intake.cancel import CANCELLED
from queries.intake.submit import IDEMPOTENCY_KEY, MAX_IDEMPOTENCY_KEY_LENGTH
from queries.schema.batch_checks import BatchLimits
from queries.schema.bodies import (
    CHAIN_PATTERN,
    BatchRequest,
    EstimateRequest,
    SecondGenerationRequest,
)
from queries.statuses import BatchStatus
from queries.webhooks.deliver import REPLAYS_PER_HOUR
from queries.webhooks.log import MAX_ATTEMPTS

BATCH_ERRORS = (*BodyCode, *RequestCode)
SUBMISSION_ERRORS = (*BATCH_ERRORS, *SubmissionCode)

BATCH = path_parameter("batch", "The `internalId` from the response to the submission.")
DETAILS = Parameter(
    batches.DETAILS,
    "0 leaves out the queries; use it for polling.",
    {"type": "string", "enum": ["0", "1"], "default": "1"},
)
FIRST_QUERY = Parameter(
    batches.FIRST_QUERY,
    f"A page has at most {batches.QUERIES_PER_PAGE:,} queries; send its `nextQuery` here to get "
    "the next ones. Without it, GET /batch-query-status returns the first page, and GET "
    "/batch-queries/{batch} all queries.",
    {"type": "integer", "minimum": 0, "maximum": batches.MAX_POSITION, "default": 0},
)

ENDPOINTS = (
    Endpoint(
        "POST",
        "/submit-batch-query",
        batches.submit_batch_query,
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
        links=(Link("batchQueryStatus", batches.BATCH_ID, "/internalId"),),
    ),
    Endpoint(
        "POST",
        "/estimate",
        estimates.estimate,
        "What a batch would take if it were submitted now: what is proven already, what is not "
        "final yet or out of reach, and the fee. Send `feeNeeded`: it covers each block sent "
        "alone, at up to twice the current base fee. `cost` is the price if READY blocks share "
        "transactions; each block's `price` is for that block alone. A batch is sent if its fee "
        "covers the base fee at that time plus an eighth. The body is that of a batch; it needs no "
        "fee. Nothing is stored.",
        body=EstimateRequest,
        own_errors=(*BATCH_ERRORS, *EstimateCode),
    ),
    Endpoint(
        "POST",
        "/witness",
        estimates.witness,
        "A proof that your own transaction passes to the registry's `verify`. `verify` returns the "
        "facts and stores nothing, so there is no batch, fee or status. The body is that of "
        f"a batch with at most {estimates.MAX_WITNESS_BLOCKS} blocks, "
        f"{estimates.MAX_WITNESS_ITEMS} accounts and {estimates.MAX_WITNESS_ITEMS} slots; it needs "
        "no fee. Nodes are asked while you wait, for at most "
        f"{estimates.WITNESS_SECONDS:.0f} seconds.",
        body=EstimateRequest,
        own_errors=(
            *BATCH_ERRORS,
            EndpointCode.NOT_PROVABLE_NOW,
            EndpointCode.NOT_PROVABLE,
            *EstimateCode,
        ),
    ),
    Endpoint(
        "GET",
        "/batch-query-status",
        batches.batch_query_status,
        "A batch's progress, step by step; once it is DONE, also the proven values.",
        parameters=(
            Parameter(
                batches.BATCH_ID,
                "The `internalId` from the response to the submission.",
                {"type": "string", "pattern": ID_PATTERN},
                required=True,
            ),
            DETAILS,
            FIRST_QUERY,
        ),
        own_errors=(
            RequestCode.MISSING_FIELD,
            EndpointCode.PARAMETER_MALFORMED,
            EndpointCode.BATCH_UNKNOWN,
        ),
        links=(Link("batchProof", "batch", "/internalId"),),
    ),
    Endpoint(
        "GET",
        "/batch-queries/{batch}",
        batches.batch_query,
        "As GET /batch-query-status, with the id in the path. `batchQuery` and `results` are for "
        "existing clients.",
        parameters=(BATCH, DETAILS, FIRST_QUERY),
        own_errors=(EndpointCode.PARAMETER_MALFORMED, EndpointCode.BATCH_UNKNOWN),
        links=(Link("batchProof", "batch", "/internalId"),),
    ),
    Endpoint(
        "POST",
        "/batch-queries/{batch}/cancel",
        batches.cancel_batch,
        "Cancel one of your batches, if no transaction for it is signed yet. It ends REJECTED, "
        "with the code `cancelled`.",
        parameters=(BATCH,),
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
    ),
    Endpoint(
        "GET",
        "/batch-queries",
        batches.batch_queries,
        "The batches that the key's owner submitted, newest first.",
        parameters=(
            Parameter(
                batches.STATUS,
                "Only batches in this state.",
                {"type": "string", "enum": BatchStatus.values},
            ),
            *PAGE_PARAMETERS,
        ),
        own_errors=(EndpointCode.PARAMETER_MALFORMED,),
        links=(Link("batchQueryStatus", batches.BATCH_ID, "/batches/0/internalId"),),
    ),
    Endpoint(
        "GET",
        "/batch-queries/{batch}/proof",
        batches.batch_proof,
        "The proof of a DONE batch in one file. `manage.py verify_proof` checks it without a "
        "database or network; `manage.py publish_proof` sends the facts to a registry with any "
        "signer's key. Headers are in RLP and accounts have the form that eth_getProof returns, so "
        "other tools can check them too; `calls` holds calldata for prove(). Anyone who knows the "
        "batch's id may fetch it; the batch's page has the same file without an API key.",
        parameters=(BATCH,),
        own_errors=(EndpointCode.BATCH_UNKNOWN, *ProofCode),
        file=batches.ProofResponse,
    ),
    Endpoint(
        "GET",
        "/webhook-deliveries",
        webhooks.webhook_deliveries,
        f"The webhooks of your batches, newest first, each with its last {MAX_ATTEMPTS} attempts.",
        parameters=PAGE_PARAMETERS,
        own_errors=(EndpointCode.PARAMETER_MALFORMED,),
        links=(Link("replayWebhook", "event", "/deliveries/0/event"),),
    ),
    Endpoint(
        "POST",
        "/webhook-deliveries/{event}/replay",
        webhooks.replay_webhook,
        "Send one of your webhooks again immediately; if it is still pending, send it now. "
        f"At most {REPLAYS_PER_HOUR} an hour for each account.",
        parameters=(path_parameter("event", "The event of a delivery."),),
        own_errors=(EndpointCode.DELIVERY_UNKNOWN, EndpointCode.TOO_MANY_REPLAYS),
        links=(Link("batchQueryStatus", "batchQueryId", "/batchQueryId"),),
    ),
    Endpoint(
        "GET", "/webhook-secret", webhooks.webhook_secret, "The secret that signs your webhooks."
    ),
    Endpoint(
        "POST",
        "/attestations",
        attestations.submit_attestation,
        "A signer of an attested registry submits its attestation of a block's hash. The block "
        "must be final on the source chain. `manage.py attest` makes and sends attestations. "
        "Sending one again changes nothing.",
        body=AttestationBody,
        own_errors=(*BodyCode, *AttestationCode, RequestCode.BLOCK_BEYOND_HEAD),
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/attestations/wanted",
        attestations.wanted_attestations,
        "The blocks that queries wait for, by attested registry: the newest "
        f"{attestations.MAX_WANTED} of each.",
        own_errors=(AttestationCode.TOO_MANY_ATTESTATIONS,),
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/ccip/{sender}/{data}",
        lookups.get_lookup,
        "A proof of one fact for FactsLookup (ERC-3668); viem and ethers fetch it automatically. "
        "The URL may end in `.json`.",
        parameters=(
            Parameter("sender", "Ignored.", {"type": "string"}, location="path", required=True),
            path_parameter(
                "data", "The `callData` of the `OffchainLookup`.", f"^{lookups.DATA_PATTERN}$"
            ),
        ),
        own_errors=tuple(LookupCode),
        needs_key=False,
        file=lookups.LookupResponse,
    ),
    Endpoint(
        "POST",
        "/ccip",
        lookups.post_lookup,
        "The same for URLs without `{data}`.",
        body=lookups.LookupBody,
        own_errors=(*BodyCode, *LookupCode, RequestCode.MISSING_FIELD, RequestCode.WRONG_TYPE),
        needs_key=False,
        file=lookups.LookupResponse,
    ),
    Endpoint(
        "GET",
        "/chain-connections",
        batches.chain_connections,
        "The routes of this server: which chain's facts can be proven on which destination.",
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/api-key",
        batches.api_key,
        "Your key's name, owner, limits and use. Call it to test the key.",
    ),
    Endpoint(
        "POST",
        "/submit-request",
        second_generation.submit_request,
        "Submit without a fee, for clients of the hosted service's second-generation API. Accepted "
        "where proving is free or has a daily budget.",
        body=SecondGenerationRequest,
        own_errors=(*SUBMISSION_ERRORS, EndpointCode.FEE_MISSING),
        links=(Link("getQueries", "request_id", "/request_id"),),
    ),
    Endpoint(
        "GET",
        "/get_queries/{request_id}",
        second_generation.get_queries,
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
    ),
    Endpoint(
        "GET",
        "/get_actions/{query_id}",
        second_generation.get_actions,
        "One action for each step of a query; PENDING until the step begins.",
        parameters=(
            path_parameter(
                "query_id", "The internal_id of a query.", second_generation.QUERY_ID_PATTERN
            ),
        ),
        own_errors=(EndpointCode.BATCH_UNKNOWN,),
    ),
    Endpoint(
        "POST",
        "/event-proofs/{destination}",
        event_proofs.event_proofs,
        "Two JSON-RPC methods, for clients of a hosted event-proof service: `proof_request` "
        "submits a log to be proven on this destination, without a fee where proving is free or "
        "has a daily budget; `proof_query` returns the proof, for the EventsRouter's "
        "`validateEvent`.",
        parameters=(path_parameter("destination", "The chain's id or alias.", CHAIN_PATTERN),),
        body=event_proofs.RpcBody,
        own_errors=(
            *BodyCode,
            RequestCode.MISSING_FIELD,
            RequestCode.WRONG_TYPE,
            RequestCode.CHAIN_UNSUPPORTED,
        ),
    ),
    Endpoint(
        "GET",
        "/is-alive",
        second_generation.is_alive,
        "Answers while the server runs.",
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/openapi.json",
        openapi.openapi,
        "This description.",
        needs_key=False,
        file=responses.OpenApiResponse,
    ),
)


def url_patterns(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """The URL patterns of all endpoints, with these routes and batch limits."""
    configuration: dict[str, object] = {"routes": routes, "limits": limits, "endpoints": ENDPOINTS}
    return [endpoint.url_pattern(configuration) for endpoint in ENDPOINTS]
