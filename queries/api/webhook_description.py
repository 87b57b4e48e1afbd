"""What a webhook brings, for the API's description: OpenAPI 3.1 has a place of its own for it."""

from queries.schema.json_schema import Schema
from queries.webhooks import EVENT_HEADER, MOST_FACTS, PAUSES, SIGNATURE_HEADER, TAKEN

TOLD = {
    EVENT_HEADER: "The event's id, the same at each attempt: by it a repetition is known.",
    SIGNATURE_HEADER: (
        "t=, the unix seconds of this attempt, a comma, and v1=, the HMAC-SHA256 in hex of t, a "
        "full stop and the body, under the secret that GET /webhook-secret answers."
    ),
}


def pauses() -> list[str]:
    """After each attempt that was not taken, as people say them."""
    told = []
    for pause in PAUSES:
        seconds = int(pause.total_seconds())
        for unit, size in (("h", 3_600), ("min", 60), ("s", 1)):
            if seconds % size == 0:
                told.append(f"{seconds // size} {unit}")
                break
    return told


def webhooks() -> Schema:
    return {
        "batchEnded": {
            "post": {
                "operationId": "batchEnded",
                "summary": "A batch is DONE or REJECTED: sent to the webhook that it came with.",
                "description": (
                    f"Any status from {TAKEN.start} to {TAKEN.stop - 1} takes it. It is sent again "
                    f"after {', '.join(pauses())}, and then given up. Redirects are not followed. "
                    f"It tells of at most {MOST_FACTS:,} queries; where a batch has more, its "
                    "status tells of those from nextQuery on."
                ),
                "parameters": [
                    {
                        "name": name,
                        "in": "header",
                        "required": True,
                        "description": meaning,
                        "schema": {"type": "string"},
                    }
                    for name, meaning in TOLD.items()
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Event"}}
                    },
                },
                "responses": {"2XX": {"description": "It is taken."}},
            }
        }
    }
