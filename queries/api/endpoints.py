"""The endpoints: address, view, request, answer and refusals of each.

The server's addresses, OpenAPI and the docs page are made of this table.
"""

from accounts import errors as general
from queries import errors
from queries.api import (
    answers,
    attestation_views,
    documents,
    estimating,
    proof_views,
    second_generation,
    views,
    webhook_views,
    witnesses,
)
from queries.api.answers import ID_PATTERN
from queries.api.endpoint import Endpoint, Link, Parameter, in_the_path, pages
from queries.attestations import AttestationBody
from queries.cancellation import CANCELLED
from queries.intake import IDEMPOTENCY_KEY, LONGEST_KEY
from queries.reading.deliveries import ATTEMPTS_SHOWN
from queries.schema.bodies import BatchRequest, EstimateRequest, LaterRequest
from queries.statuses import BatchStatus
from queries.webhooks import REPLAYS_AN_HOUR

OF_A_BODY = (
    general.BODY_TOO_LARGE,
    general.CONTENT_TYPE_UNSUPPORTED,
    errors.NOT_JSON,
    errors.NESTED_TOO_DEEPLY,
    errors.DUPLICATE_KEY,
    errors.TEXT_NOT_STORABLE,
    errors.NUMBER_MALFORMED,
)
OF_A_BATCH = (
    *OF_A_BODY,
    errors.WRONG_TYPE,
    errors.MISSING_FIELD,
    errors.UNKNOWN_FIELD,
    errors.CHAIN_UNSUPPORTED,
    errors.ROUTE_UNSUPPORTED,
    errors.FEE_MALFORMED,
    errors.SELECTOR_MALFORMED,
    errors.BLOCK_BEYOND_HEAD,
    errors.ACCOUNT_MALFORMED,
    errors.UNKNOWN_PROP,
    errors.UNKNOWN_HEADER_FIELD,
    errors.SLOT_MALFORMED,
    errors.WEBHOOK_MALFORMED,
    errors.NOTHING_ASKED,
    errors.TOO_MANY_BLOCKS,
    errors.TOO_MANY_ACCOUNTS,
    errors.TOO_MANY_SLOTS,
    errors.TOO_MANY_WEBHOOK_HEADERS,
    errors.WEBHOOK_HEADERS_TOO_LARGE,
)
OF_SUBMITTING = (*OF_A_BATCH, errors.TOO_MANY_FACTS, errors.MORE_FACTS_THAN_A_DAY)

BATCH = in_the_path("batch", "The `internalId` from the answer to the submission.")
DETAILS = Parameter(
    views.DETAILS,
    "0 leaves out the queries; use it for polling.",
    {"type": "string", "enum": ["0", "1"], "default": "1"},
)
FROM_QUERY = Parameter(
    views.FROM_QUERY,
    f"An answer has at most {views.QUERIES_SHOWN:,} queries; send its `nextQuery` here to get the "
    "next ones.",
    {"type": "integer", "minimum": 0, "maximum": views.GREATEST_PLACE, "default": 0},
)

ENDPOINTS = (
    Endpoint(
        "POST",
        "/submit-batch-query",
        views.submit_batch_query,
        answers.Submitted,
        "Submit a batch query. It is stored whole or not at all.",
        parameters=(
            Parameter(
                IDEMPOTENCY_KEY,
                "If the key is sent again with the same batch, the first batch's id is returned "
                "and nothing is stored.",
                {"type": "string", "pattern": f"^[!-~]{{1,{LONGEST_KEY}}}$"},
                place="header",
            ),
        ),
        body=BatchRequest,
        own_refusals=(
            *OF_SUBMITTING,
            errors.FEE_TOO_LOW,
            errors.IDEMPOTENCY_KEY_MALFORMED,
            errors.IDEMPOTENCY_KEY_REUSED,
        ),
        links=(Link("batchQueryStatus", views.BATCH_ID, "/internalId"),),
    ),
    Endpoint(
        "POST",
        "/estimate",
        estimating.estimate,
        answers.Estimate,
        "What a batch would take if it were submitted now: what is proven already, what is not "
        "final yet or out of reach, and the fee. Send `feeNeeded`: it covers each block sent "
        "alone, at up to twice the current base fee. `cost` is the price if READY blocks share "
        "transactions; each block's `price` is for that block alone. A batch is sent if its fee "
        "covers the base fee at that time plus an eighth. The body is that of a batch; it needs no "
        "fee. Nothing is stored.",
        body=EstimateRequest,
        own_refusals=(
            *OF_A_BATCH,
            errors.TOO_MANY_ESTIMATES,
            errors.ESTIMATES_BUSY,
            errors.CHAIN_UNAVAILABLE,
        ),
    ),
    Endpoint(
        "POST",
        "/witness",
        witnesses.witness,
        answers.Witnesses,
        "A proof that your own transaction passes to the registry's `verify`. `verify` returns the "
        "facts and stores nothing, so there is no batch, fee or status. The body is that of "
        f"a batch with at most {witnesses.MOST_BLOCKS} blocks, {witnesses.MOST} accounts and "
        f"{witnesses.MOST} slots; it needs no fee. Nodes are asked while you wait, for at most "
        f"{witnesses.SECONDS:.0f} seconds.",
        body=EstimateRequest,
        own_refusals=(
            *OF_A_BATCH,
            errors.NOT_PROVABLE_NOW,
            errors.NOT_PROVABLE,
            errors.TOO_MANY_ESTIMATES,
            errors.ESTIMATES_BUSY,
            errors.CHAIN_UNAVAILABLE,
        ),
    ),
    Endpoint(
        "GET",
        "/batch-query-status",
        views.batch_query_status,
        answers.StatusAnswer,
        "A batch's progress, step by step; once it is DONE, also the proven values.",
        parameters=(
            Parameter(
                views.BATCH_ID,
                "The `internalId` from the answer to the submission.",
                {"type": "string", "pattern": ID_PATTERN},
                required=True,
            ),
            DETAILS,
            FROM_QUERY,
        ),
        own_refusals=(errors.MISSING_FIELD, errors.PARAMETER_MALFORMED, errors.BATCH_UNKNOWN),
        links=(Link("batchProof", "batch", "/internalId"),),
    ),
    Endpoint(
        "GET",
        "/batch-queries/{batch}",
        views.batch_query,
        answers.BatchAnswer,
        "As GET /batch-query-status, with the id in the path. `batchQuery` and `results` are for "
        "existing clients.",
        parameters=(BATCH, DETAILS, FROM_QUERY),
        own_refusals=(errors.PARAMETER_MALFORMED, errors.BATCH_UNKNOWN),
        links=(Link("batchProof", "batch", "/internalId"),),
    ),
    Endpoint(
        "POST",
        "/batch-queries/{batch}/cancel",
        views.cancel_batch,
        answers.Batch,
        "Cancel one of your batches, if no transaction for it is signed yet. It ends REJECTED, "
        "with the code `cancelled`.",
        parameters=(BATCH,),
        own_refusals=(errors.BATCH_UNKNOWN, errors.BATCH_ENDED, errors.BATCH_SIGNED),
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
        views.batch_queries,
        answers.Batches,
        "The batches that the key's owner submitted, newest first.",
        parameters=(
            Parameter(
                views.STATUS,
                "Only batches in this state.",
                {"type": "string", "enum": BatchStatus.values},
            ),
            *pages(views.BATCHES_SHOWN, views.MOST_BATCHES),
        ),
        own_refusals=(errors.PARAMETER_MALFORMED,),
        links=(Link("batchQueryStatus", views.BATCH_ID, "/batches/0/internalId"),),
    ),
    Endpoint(
        "GET",
        "/batch-queries/{batch}/proof",
        proof_views.batch_proof,
        proof_views.Proof,
        "The proof of a DONE batch in one file. `manage.py verify_proof` checks it without a "
        "database or network; `manage.py publish_proof` sends the facts to a registry with any "
        "signer's key. Headers are in RLP and accounts have the form that eth_getProof returns, so "
        "other tools can check them too; `calls` holds calldata for prove(). Anyone who knows the "
        "batch's id may fetch it; the batch's page has the same file without an API key.",
        parameters=(BATCH,),
        own_refusals=(
            errors.BATCH_UNKNOWN,
            errors.BATCH_NOT_DONE,
            errors.BATCH_REJECTED,
            errors.PROOF_UNAVAILABLE,
            errors.PROOFS_BUSY,
        ),
    ),
    Endpoint(
        "GET",
        "/webhook-deliveries",
        webhook_views.webhook_deliveries,
        answers.Deliveries,
        "The webhooks of your batches, newest first, each with its last "
        f"{ATTEMPTS_SHOWN} attempts.",
        parameters=pages(webhook_views.SHOWN, webhook_views.MOST),
        own_refusals=(errors.PARAMETER_MALFORMED,),
        links=(Link("replayWebhook", "event", "/deliveries/0/event"),),
    ),
    Endpoint(
        "POST",
        "/webhook-deliveries/{event}/replay",
        webhook_views.replay_webhook,
        answers.Delivery,
        "Send one of your webhooks again immediately; if it is still pending, send it now. "
        f"At most {REPLAYS_AN_HOUR} an hour for each account.",
        parameters=(in_the_path("event", "The event of a delivery."),),
        own_refusals=(errors.DELIVERY_UNKNOWN, errors.TOO_MANY_REPLAYS),
        links=(Link("batchQueryStatus", "batchQueryId", "/batchQueryId"),),
    ),
    Endpoint(
        "GET",
        "/webhook-secret",
        webhook_views.webhook_secret,
        answers.WebhookSecret,
        "The secret that signs your webhooks.",
    ),
    Endpoint(
        "POST",
        "/attestations",
        attestation_views.give_attestation,
        answers.AttestationTaken,
        "A signer of an attested registry submits its attestation of a block's hash. The block "
        "must be final on the source chain. `manage.py attest` makes and sends attestations. "
        "Sending one again changes nothing.",
        body=AttestationBody,
        own_refusals=(
            *OF_A_BODY,
            errors.ATTESTATION_MALFORMED,
            errors.ATTESTATION_UNTRUSTED,
            errors.ATTESTATION_CONTRADICTED,
            errors.ATTESTATION_UNWANTED,
            errors.BLOCK_BEYOND_HEAD,
            errors.TOO_MANY_ATTESTATIONS,
        ),
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/attestations/wanted",
        attestation_views.wanted_attestations,
        answers.WantedAttestations,
        "The blocks that queries wait for, by attested registry: the newest "
        f"{attestation_views.MOST_WANTED} of each.",
        own_refusals=(errors.TOO_MANY_ATTESTATIONS,),
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/chain-connections",
        views.chain_connections,
        answers.Connections,
        "The routes of this server: which chain's facts can be proven on which destination.",
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/api-key",
        views.api_key,
        answers.ApiKeyAnswer,
        "Your key's name, owner, limits and use. Call it to test the key.",
    ),
    Endpoint(
        "POST",
        "/submit-request",
        second_generation.submit_request,
        answers.RequestTaken,
        "Submit without a fee, for clients of the hosted service's later API. Accepted where "
        "proving is free or has a daily budget.",
        body=LaterRequest,
        own_refusals=(*OF_SUBMITTING, errors.FEE_MISSING),
        links=(Link("getQueries", "request_id", "/request_id"),),
    ),
    Endpoint(
        "GET",
        "/get_queries/{request_id}",
        second_generation.get_queries,
        answers.LaterQueries,
        "The queries of a request. It is DONE if all are COMPLETED, and has failed if any is "
        "FAILED.",
        parameters=(
            in_the_path("request_id", "The `request_id` from the answer to the submission."),
            Parameter(
                views.FROM_QUERY,
                f"Send 0 to get the first {views.QUERIES_SHOWN:,} queries, then the `next_query` "
                "of each answer. Without it the answer has all queries.",
                {"type": "integer", "minimum": 0, "maximum": views.GREATEST_PLACE},
            ),
        ),
        own_refusals=(errors.PARAMETER_MALFORMED, errors.BATCH_UNKNOWN),
        links=(Link("getActions", "query_id", "/queries/0/internal_id"),),
    ),
    Endpoint(
        "GET",
        "/get_actions/{query_id}",
        second_generation.get_actions,
        answers.LaterActions,
        "One action for each step of a query; PENDING until the step begins.",
        parameters=(
            in_the_path(
                "query_id", "The internal_id of a query.", f"{ID_PATTERN[:-1]}-[0-9]{{1,9}}$"
            ),
        ),
        own_refusals=(errors.BATCH_UNKNOWN,),
    ),
    Endpoint(
        "GET",
        "/is-alive",
        second_generation.is_alive,
        answers.Alive,
        "Answers while the server runs.",
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/openapi.json",
        documents.openapi,
        answers.Description,
        "This description.",
        needs_key=False,
    ),
)
