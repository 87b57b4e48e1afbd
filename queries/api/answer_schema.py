"""What the API answers, as JSON Schema, for its own description; a test compares real answers."""

from queries.api.batch_codes import rejection_codes, wait_codes
from queries.api.proof_endpoints import proof_schema
from queries.api.request_schema import DECIMAL, Schema
from queries.pipeline.estimate import Readiness
from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField
from queries.reading.deliveries import DeliveryState
from queries.routes import RegistryKind
from queries.statuses import BatchStatus, StepName, StepStatus

NUMBER: Schema = {"type": "string", "pattern": DECIMAL}
NUMBER_OR_NULL: Schema = {"type": ["string", "null"], "pattern": DECIMAL}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
MOMENT_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
ID: Schema = {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}


def _texts(members: object = None) -> Schema:
    return {"type": "array", "items": {"enum": members} if members else TEXT}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


def _or_null(schema: Schema) -> Schema:
    return schema | {"type": [schema["type"], "null"]}


def _whole(properties: dict[str, Schema], *, beside: dict[str, Schema] | None = None) -> Schema:
    """An object with all of these, and nothing but what may stand `beside` them."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": properties | (beside or {}),
        "additionalProperties": False,
    }


WAITS: dict[str, Schema] = {
    "waitsFor": TEXT_OR_NULL,
    "waitCode": {
        "enum": [*wait_codes(), None],
        "description": "What waitsFor says, for programs.",
    },
}
BATCH: dict[str, Schema] = {
    "queryStatus": {"enum": ["IN_PROGRESS", "DONE", "REJECTED"]},
    "internalId": ID,
    "status": {"enum": BatchStatus.values},
    "destinationChainId": NUMBER,
    "fee": NUMBER,
    "spent": NUMBER,
    "submitted": MOMENT,
    "ended": MOMENT_OR_NULL,
    **WAITS,
}
CAUSE: dict[str, Schema] = {
    "error": TEXT,
    "code": {"enum": rejection_codes()},
    "retryable": FLAG,
    "step": {"enum": [*StepName.values, None]},
}
REJECTED: dict[str, Schema] = {
    "rejection": _whole(
        {
            "code": CAUSE["code"],
            "message": TEXT,
            "step": CAUSE["step"],
            "retryable": FLAG,
        }
    ),
    "info": _texts(),
}
QUERY: dict[str, Schema] = {
    "originChainId": NUMBER,
    "selector": TEXT,
    "block": NUMBER_OR_NULL,
    "account": TEXT_OR_NULL,
    "name": TEXT_OR_NULL,
    "props": _texts([each.name for each in AccountField]),
    "slots": _texts(),
    "header": _texts([each.name for each in HeaderField]),
    "steps": _list_of("Step"),
    **WAITS,
    "values": {"type": ["object", "null"], "additionalProperties": TEXT},
    "cost": NUMBER_OR_NULL
    | {
        "description": "Its share of the batch's spent, in wei: of all queries together it is "
        "that, also of a batch that was rejected. As spent it is counted once a transaction is "
        "deep enough, which may be after the batch is DONE, and counted anew where a "
        "reorganisation or a final receipt says otherwise. null: it shares none that is counted.",
    },
}
STEP: dict[str, Schema] = {
    "step": {"enum": StepName.values},
    "status": {"enum": [*StepStatus.values, None]},
    "started": MOMENT_OR_NULL,
    "completed": MOMENT_OR_NULL,
    "transactionHash": TEXT_OR_NULL,
    "transactionBlock": NUMBER_OR_NULL,
    "gasUsed": NUMBER_OR_NULL,
    "error": _or_null(_whole({name: CAUSE[name] for name in ("error", "code", "retryable")})),
}


PRICE: dict[str, Schema] = {
    "transactions": COUNT,
    "bytes": COUNT,
    "gas": NUMBER,
    "gasPrice": NUMBER,
    "cost": NUMBER,
}


def answer_schemas(codes: list[str]) -> dict[str, Schema]:
    """By the names under which the document holds them; `codes` are those of all refusals."""
    details = {**REJECTED, "queries": _list_of("Query"), "nextQuery": _or_null(COUNT)}
    batch_query = {
        "id": ID,
        "status": BATCH["queryStatus"],
        "data": _or_null(_list_of("Query")),
    }
    return {
        "Submitted": _whole({"internalId": ID, "page": TEXT, "warnings": _list_of("Warning")}),
        "Warning": _whole({"sentence": TEXT, "path": TEXT}),
        "BatchStatus": _whole(BATCH, beside=details),
        "BatchQuery": _whole(BATCH | {"batchQuery": _whole(batch_query)}, beside=details),
        "Batch": _whole(BATCH, beside=REJECTED),
        "Batches": _whole({"batches": _list_of("Batch"), "cursor": _or_null(ID)}),
        "Query": _whole(QUERY),
        "Step": _whole(STEP),
        "Proof": proof_schema(),
        "Connections": _whole({"connections": _list_of("Connection")}),
        "Connection": _whole(
            {
                "originChainId": NUMBER,
                "destinationChainId": NUMBER,
                "origin": {"$ref": "#/components/schemas/Chain"},
                "destination": {"$ref": "#/components/schemas/Chain"},
                "kind": {"enum": list(RegistryKind)},
                "registry": TEXT,
            }
        ),
        "Chain": _whole({"name": TEXT, "aliases": _texts()}),
        "ApiKey": _api_key(),
        **_estimate(),
        **_webhooks(),
        **_later(),
        "AttestationTaken": _whole({"signer": TEXT, "block": NUMBER}),
        "WantedAttestations": _whole({"wanted": _list_of("Wanted")}),
        "Wanted": _whole(
            {
                "originChainId": NUMBER,
                "destinationChainId": NUMBER,
                "registry": TEXT,
                "blocks": {"type": "array", "items": NUMBER},
            }
        ),
        "Error": _whole(
            {"error": TEXT, "code": {"enum": codes}, "path": TEXT, "retryable": FLAG},
            beside={"detail": TEXT},
        ),
    }


def _later() -> dict[str, Schema]:
    """Of the later API of the retired service."""
    query: dict[str, Schema] = {
        "internal_id": TEXT,
        "status": {"enum": ["COMPLETED", "IN_PROGRESS", "REJECTED"]},
        "typ": {"enum": ["ACCOUNT", "HEADER"]},
        "created_at": MOMENT,
        "completed_at": MOMENT_OR_NULL,
    }
    action = query | {
        "status": {"enum": ["COMPLETED", "IN_PROGRESS", "PENDING", "REJECTED"]},
        "typ": {"enum": StepName.values},
        "created_at": MOMENT_OR_NULL,
        "transaction_hash": TEXT_OR_NULL,
    }
    return {
        "RequestTaken": _whole({"status": {"enum": BatchStatus.values}, "request_id": ID}),
        "LaterQueries": _whole({"queries": {"type": "array", "items": _whole(query)}}),
        "LaterActions": _whole({"actions": {"type": "array", "items": _whole(action)}}),
        "Alive": _whole({"message": {"enum": ["Alive!"]}}),
    }


def _webhooks() -> dict[str, Schema]:
    delivery: dict[str, Schema] = {
        "event": ID,
        "batchQueryId": ID,
        "url": TEXT,
        "state": {"enum": list(DeliveryState)},
        "created": MOMENT,
        "delivered": MOMENT_OR_NULL,
        "nextAttempt": MOMENT_OR_NULL,
        "attempts": _list_of("Attempt"),
    }
    event: dict[str, Schema] = {
        "event": ID,
        "batchQueryId": ID,
        "queryStatus": {"enum": ["DONE", "REJECTED"]},
        "destinationChainId": NUMBER,
        "error": _or_null(
            _whole({name: CAUSE[name] for name in ("code", "error", "step", "retryable")})
        ),
        "facts": _list_of("Facts"),
        "nextQuery": _or_null(COUNT),
    }
    return {
        "Deliveries": _whole({"deliveries": _list_of("Delivery"), "cursor": _or_null(ID)}),
        "Delivery": _whole(delivery),
        "Attempt": _whole(
            {
                "made": MOMENT,
                "answered": _or_null(COUNT),
                "fault": TEXT_OR_NULL,
                "milliseconds": COUNT,
            }
        ),
        "WebhookSecret": _whole({"secret": TEXT}),
        "Event": _whole(event),
        "Facts": _whole(
            {name: QUERY[name] for name in ("originChainId", "block", "account", "name", "values")}
        ),
    }


def _estimate() -> dict[str, Schema]:
    block: dict[str, Schema] = {
        "originChainId": NUMBER,
        "selectors": _texts(),
        "block": NUMBER_OR_NULL,
        "lastFinalBlock": NUMBER,
        "readiness": {
            "enum": list(Readiness),
            "description": (
                "Whether it could be proven now. What is NOT_FINAL or NOT_KNOWN to the destination "
                "waits if it is submitted; what is OUT_OF_REACH or FAILS is rejected."
            ),
        },
        "waitsFor": TEXT_OR_NULL,
        "error": TEXT_OR_NULL,
        "code": TEXT_OR_NULL,
        "distance": NUMBER_OR_NULL,
        "proven": _list_of("ProvenFacts"),
        "price": _or_null(_whole(PRICE)),
    }
    whole: dict[str, Schema] = {
        "destinationChainId": NUMBER,
        "free": FLAG,
        "feeNeeded": NUMBER,
        "complete": FLAG,
        **PRICE,
        "warnings": _list_of("Warning"),
        "blocks": _list_of("BlockEstimate"),
    }
    return {
        "Estimate": _whole(whole),
        "BlockEstimate": _whole(block),
        "ProvenFacts": _whole({"account": TEXT_OR_NULL, "name": TEXT_OR_NULL, "facts": _texts()}),
    }


def _api_key() -> Schema:
    return _whole(
        {
            "id": TEXT,
            "name": TEXT,
            "owner": TEXT,
            "ownerChainId": NUMBER_OR_NULL,
            "created": MOMENT,
            "limits": _whole({"requests": COUNT, "seconds": COUNT}),
            "use": _whole({"today": COUNT, "total": COUNT, "last": MOMENT_OR_NULL}),
        }
    )
