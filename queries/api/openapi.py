"""The API's description of itself, OpenAPI 3.1, made of the endpoints and their models."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings

from accounts.errors import Code
from accounts.key_check import HEADER, PARAMETER
from queries.api.answers import Error, Event
from queries.api.endpoint import ANYWHERE, Endpoint, by_status, every_refusal
from queries.api.examples import BODIES
from queries.api.webhook_views import webhook_event
from queries.schema.batch_checks import BatchLimits
from queries.schema.json_schema import Schema, reference, schemas_of

_ABOUT = (
    "Proves what a blockchain's state was, and makes it readable in a contract. Submit a batch, "
    "poll its status until it is DONE or REJECTED, then read the facts on chain. Each refusal has "
    "one shape: `error` is a sentence, `code` says the same to programs, `path` names the value at "
    "fault, and where `retryable` is false, sending the same again will not help. "
    "HEAD works wherever GET does. Pages of other origins may send requests with a key (CORS), "
    "unless the operator turns that off; OPTIONS answers preflight requests. "
    "The server itself refuses what is not HTTP with 400, a URL of more than 8,190 bytes with "
    "414, and more than 100 headers or one of more than 8,190 bytes with 431, each in HTML."
)
_OF_THE_MINUTE = {
    "RateLimit-Limit": "The requests that the key has in a minute.",
    "RateLimit-Remaining": "Requests left in this minute.",
    "RateLimit-Reset": "Seconds until the limit resets.",
}
_OF_ALL = {"X-Request-ID": "By it the operator finds the request in the log."}
_OF_A_STATUS = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Says that an API key is required."},
    HTTPStatus.METHOD_NOT_ALLOWED: {"Allow": "The methods that the path takes."},
    HTTPStatus.TOO_MANY_REQUESTS: {
        "Retry-After": "Seconds until the limit allows another request."
    },
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "Seconds after which to try again."},
}
_NUMBERS = {*_OF_THE_MINUTE, "Retry-After"}
DESCRIBED_HEADERS = {
    *_OF_THE_MINUTE,
    *_OF_ALL,
    *(name for each in _OF_A_STATUS.values() for name in each),
}


def document(endpoints: Sequence[Endpoint], limits: BatchLimits, server: str) -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacitus",
            "version": settings.VERSION,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": server}],
        "paths": {each.path: {each.method.lower(): _operation(each)} for each in endpoints},
        "webhooks": webhook_event(),
        "components": {
            "securitySchemes": {
                "header": {"type": "apiKey", "in": "header", "name": HEADER},
                "bearer": {"type": "http", "scheme": "bearer"},
                "parameter": {
                    "type": "apiKey",
                    "in": "query",
                    "name": PARAMETER,
                    "description": (
                        "For existing clients. Prefer the header, which wins if both are sent: "
                        "URLs end up in logs."
                    ),
                },
            },
            "schemas": _schemas(endpoints, limits),
        },
    }


def _schemas(endpoints: Sequence[Endpoint], limits: BatchLimits) -> dict[str, Schema]:
    bodies = [each.body for each in endpoints if each.body is not None]
    held = schemas_of(bodies, "validation")
    for name in ("BatchRequest", "EstimateRequest", "LaterRequest"):
        held[name]["description"] += (
            f" At most {limits.body_bytes:,} bytes, {limits.blocks:,} blocks, {limits.accounts:,} "
            f"accounts and {limits.slots:,} slots in all."
        )
        blocks_of_chain = held[name]["properties"]["data"]["additionalProperties"]
        blocks_of_chain["maxProperties"] = limits.blocks
    held["Webhook"]["description"] += (
        f" At most {limits.webhook_headers:,} headers of {limits.webhook_header_bytes:,} bytes "
        "together."
    )
    answered = [each.answer for each in endpoints]
    held |= schemas_of([*answered, Event, Error], "serialization")
    for name, member, bound in (
        ("Account", "slots", limits.slots),
        ("Block", "accounts", limits.accounts),
        ("Webhook", "headers", limits.webhook_headers),
    ):
        schema = held[name]["properties"][member]
        schema["maxItems" if schema["type"] == "array" else "maxProperties"] = bound
    codes = sorted({each.code for each in every_refusal(endpoints)})
    held["Error"]["properties"]["code"]["enum"] = codes
    return held


def _operation(endpoint: Endpoint) -> Schema:
    operation: Schema = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "security": [{"header": []}, {"bearer": []}, {"parameter": []}]
        if endpoint.needs_key
        else [],
        "parameters": [
            {
                "name": each.name,
                "in": each.place,
                "required": each.required,
                "description": each.meaning,
                "schema": each.schema,
            }
            for each in endpoint.parameters
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.body:
        content: dict[str, Any] = {"schema": reference(endpoint.body)}
        examples = BODIES.get(endpoint.body.__name__, {})
        content["examples"] = {name: {"value": each} for name, each in examples.items()}
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _responses(endpoint: Endpoint) -> Schema:
    content: Schema = {"schema": reference(endpoint.answer), "example": endpoint.example}
    worked: Schema = {
        "description": "It worked.",
        "headers": _headers_of(HTTPStatus.OK, needs_key=endpoint.needs_key),
        "content": {"application/json": content},
    }
    if endpoint.links:
        worked["links"] = {
            each.endpoint: {
                "operationId": each.endpoint,
                "parameters": {each.parameter: f"$response.body#{each.place}"},
            }
            for each in endpoint.links
        }
    responses: Schema = {str(HTTPStatus.OK.value): worked}
    for status, refusals in by_status((*endpoint.refusals, *ANYWHERE)).items():
        headers = _headers_of(status, needs_key=endpoint.needs_key)
        responses[str(status.value)] = {"headers": headers} | _refused(refusals)
    return responses


def _refused(refusals: list[Code]) -> Schema:
    return {
        "description": "\n".join(f"`{each.code}`: {each.meaning}" for each in refusals),
        "content": {"application/json": {"schema": reference(Error)}},
    }


def _headers_of(status: HTTPStatus, *, needs_key: bool) -> Schema:
    """Those that an answer with this status has, or may have."""
    counted = needs_key and status is not HTTPStatus.UNAUTHORIZED
    named = (_OF_THE_MINUTE if counted else {}) | _OF_A_STATUS.get(status, {}) | _OF_ALL
    return {
        name: {
            "description": meaning,
            "schema": {"type": "integer" if name in _NUMBERS else "string"},
        }
        for name, meaning in named.items()
    }
