"""The endpoints: how each is asked, and with which refusals it may answer.

The addresses themselves stand in `urls`; a test holds the two together.
"""

from http import HTTPStatus

from accounts import errors as general
from accounts.errors import Code
from queries import errors
from queries.api import views
from queries.api.attestation_endpoints import ATTESTATION_ENDPOINTS
from queries.api.endpoint import ID_PATTERN, OF_THE_KEY, Endpoint, Link, Parameter, pages
from queries.api.proof_endpoints import OF_PROOFS, PROOF_ENDPOINT
from queries.api.second_endpoints import OF_NO_FEE, second_endpoints
from queries.api.webhook_endpoints import OF_REPLAYING, WEBHOOK_ENDPOINTS
from queries.intake import IDEMPOTENCY_KEY, LONGEST_KEY
from queries.statuses import BatchStatus

# What any endpoint may answer, before it is asked or because something broke.
ANYWHERE: tuple[Code, ...] = (
    general.BAD_REQUEST,
    general.HOST_UNKNOWN,
    general.HTTPS_NEEDED,
    general.NOTHING_HERE,
    general.METHOD_NOT_ALLOWED,
    general.FAULT_OF_OURS,
    general.UNAVAILABLE,
)
OF_NODES = (errors.TOO_MANY_ESTIMATES, errors.ESTIMATES_BUSY, errors.CHAIN_UNAVAILABLE)
OF_READING = (errors.MISSING_FIELD, errors.PARAMETER_MALFORMED, errors.BATCH_UNKNOWN)
OF_CANCELLING = (errors.BATCH_ENDED, errors.BATCH_SIGNED)
OF_SUBMITTING = tuple(
    each
    for each in vars(errors).values()
    if isinstance(each, general.Code)
    and each
    not in {
        *errors.OF_ATTESTATIONS,
        *OF_READING,
        *OF_REPLAYING,
        *OF_NODES,
        *OF_PROOFS,
        *OF_CANCELLING,
        *OF_NO_FEE,
    }
    - {errors.MISSING_FIELD}
)
OF_SUBMITTING_AT_ONCE = tuple(
    each
    for each in OF_SUBMITTING
    if each
    not in {errors.IDEMPOTENCY_KEY_MALFORMED, errors.IDEMPOTENCY_KEY_REUSED, errors.FEE_TOO_LOW}
)
OF_ESTIMATING = (
    *(
        each
        for each in OF_SUBMITTING
        if each
        not in {
            errors.IDEMPOTENCY_KEY_MALFORMED,
            errors.IDEMPOTENCY_KEY_REUSED,
            errors.FEE_TOO_LOW,
            errors.TOO_MANY_FACTS,
            errors.MORE_FACTS_THAN_A_DAY,
        }
    ),
    *OF_NODES,
)

BATCH = Parameter(
    "batch",
    "The internalId that submitting answered.",
    {"type": "string", "pattern": ID_PATTERN},
    place="path",
    required=True,
)
DETAILS = Parameter(
    views.DETAILS,
    "0 leaves the queries out: for polling.",
    {"type": "string", "enum": ["0", "1"], "default": "1"},
)
FROM_QUERY = Parameter(
    views.FROM_QUERY,
    f"An answer has at most {views.QUERIES_SHOWN:,} queries; the nextQuery of the answer before "
    "shows those that follow.",
    {"type": "integer", "minimum": 0, "maximum": views.GREATEST_PLACE, "default": 0},
)

ENDPOINTS = (
    Endpoint(
        "POST",
        "/submit-batch-query",
        "submitBatchQuery",
        "Submit a batch query. It is stored whole or not at all.",
        "Submitted",
        (
            Parameter(
                IDEMPOTENCY_KEY,
                "Sent again with the same batch, it answers the first one's id instead of "
                "submitting another.",
                {"type": "string", "pattern": f"^[!-~]{{1,{LONGEST_KEY}}}$"},
                place="header",
            ),
        ),
        body="BatchRequest",
        refusals=(
            *OF_THE_KEY,
            general.BODY_TOO_LARGE,
            general.CONTENT_TYPE_UNSUPPORTED,
            *OF_SUBMITTING,
        ),
        links=(Link("batchQueryStatus", views.BATCH_ID, "/internalId"),),
    ),
    Endpoint(
        "POST",
        "/estimate",
        "estimate",
        "What a batch would take if it were submitted now: what is proven already, what is not "
        "final yet or out of reach, and the fee. Blocks that are ready together share "
        "transactions: `cost` is what they take then, and the price of each block what it takes "
        "alone. `feeNeeded` is enough even if each has to go alone, and if gas gets dearer: a fee "
        "is taken that covers the base fee of the moment of sending and an eighth more, and this "
        "one covers twice that of now. Nothing is stored.",
        "Estimate",
        body="BatchRequest",
        refusals=(
            *OF_THE_KEY,
            general.BODY_TOO_LARGE,
            general.CONTENT_TYPE_UNSUPPORTED,
            *OF_ESTIMATING,
        ),
    ),
    Endpoint(
        "GET",
        "/batch-query-status",
        "batchQueryStatus",
        "How far a batch is, step by step, and what was proven once it is DONE.",
        "BatchStatus",
        (
            Parameter(
                views.BATCH_ID,
                "The internalId that submitting answered.",
                {"type": "string", "pattern": ID_PATTERN},
                required=True,
            ),
            DETAILS,
            FROM_QUERY,
        ),
        refusals=(*OF_THE_KEY, *OF_READING),
        links=(Link("batchProof", "batch", "/internalId"),),
    ),
    Endpoint(
        "GET",
        "/batch-queries/{batch}",
        "batchQuery",
        "The same, at an address of the batch's own.",
        "BatchQuery",
        (
            BATCH,
            DETAILS,
            FROM_QUERY,
        ),
        refusals=(*OF_THE_KEY, errors.PARAMETER_MALFORMED, errors.BATCH_UNKNOWN),
    ),
    Endpoint(
        "POST",
        "/batch-queries/{batch}/cancel",
        "cancelBatch",
        "Cancel a batch of yours of which nothing is signed yet. It ends REJECTED, with the code "
        "`cancelled`.",
        "Batch",
        (BATCH,),
        refusals=(*OF_THE_KEY, errors.BATCH_UNKNOWN, *OF_CANCELLING),
    ),
    Endpoint(
        "GET",
        "/batch-queries",
        "batchQueries",
        "The batches that the key's owner submitted, newest first.",
        "Batches",
        (
            Parameter(
                views.STATUS,
                "Only batches in this state.",
                {"type": "string", "enum": BatchStatus.values},
            ),
            *pages(views.BATCHES_SHOWN, views.MOST_BATCHES),
        ),
        refusals=(*OF_THE_KEY, errors.PARAMETER_MALFORMED),
        links=(Link("batchQueryStatus", views.BATCH_ID, "/batches/0/internalId"),),
    ),
    PROOF_ENDPOINT,
    *WEBHOOK_ENDPOINTS,
    *ATTESTATION_ENDPOINTS,
    Endpoint(
        "GET",
        "/chain-connections",
        "chainConnections",
        "Facts of which chain can be proven to which.",
        "Connections",
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/api-key",
        "apiKey",
        "What a key is and has done: to try out yours.",
        "ApiKey",
        refusals=OF_THE_KEY,
    ),
    *second_endpoints(OF_SUBMITTING_AT_ONCE),
    Endpoint(
        "GET",
        "/openapi.json",
        "openapi",
        "This description.",
        "Description",
        needs_key=False,
    ),
)


def by_status(refusals: tuple[Code, ...]) -> dict[HTTPStatus, list[Code]]:
    """The refusals under each HTTP status, in their order."""
    found: dict[HTTPStatus, list[Code]] = {}
    for each in refusals:
        found.setdefault(each.status, []).append(each)
    return dict(sorted(found.items()))


def every_refusal() -> list[Code]:
    """Each once, in the order of their statuses."""
    named = dict.fromkeys(
        [*ANYWHERE, *(each for endpoint in ENDPOINTS for each in endpoint.refusals)]
    )
    return sorted(named, key=lambda each: each.status)
