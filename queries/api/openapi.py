"""The API's description of itself, OpenAPI 3.1, made of the endpoints and their models."""

from collections.abc import Sequence
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from pydantic import BaseModel

from accounts.keys.check import HEADER, PARAMETER
from accounts.shared.site_address import site_address
from queries.api.answers import Error, Event
from queries.api.endpoint import ANYWHERE, Endpoint, Parameter, by_status, every_refusal
from queries.api.examples import BODIES, fill_in, route_example
from queries.api.webhooks import SENT_HEADERS, pauses
from queries.config.routes import Routes
from queries.schema.batch_checks import BatchLimits
from queries.schema.json_schema import Schema, reference, schemas_of
from queries.webhooks.deliver import TAKEN
from queries.webhooks.payload import MOST_FACTS

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


def openapi(
    request: HttpRequest, endpoints: Sequence[Endpoint], routes: Routes, limits: BatchLimits
) -> HttpResponse:
    """The document, with a route of this server in its examples."""
    filled = fill_in(document(endpoints, limits, site_address(request)), route_example(routes))
    return JsonResponse(filled, headers={"Cache-Control": "no-cache"})


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
        "webhooks": {"batchEnded": {"post": _webhook()}},
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
        "parameters": [_parameter(each) for each in endpoint.parameters],
        "responses": _responses(endpoint),
    }
    if endpoint.body:
        bodies = BODIES.get(endpoint.body.__name__, {})
        examples = {name: {"value": each} for name, each in bodies.items()}
        content = _json(endpoint.body, examples=examples)
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(parameter: Parameter) -> Schema:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": parameter.schema,
    }


def _webhook() -> Schema:
    headers = (
        Parameter(name, meaning, {"type": "string"}, "header", required=True)
        for name, meaning in SENT_HEADERS.items()
    )
    return {
        "operationId": "batchEnded",
        "summary": "A batch is DONE or REJECTED: sent to the webhook that it came with.",
        "description": (
            f"Any status from {TAKEN.start} to {TAKEN.stop - 1} accepts it. Otherwise it is sent "
            f"again after {', '.join(pauses())}; then it is given up. Redirects are not followed. "
            f"It lists at most {MOST_FACTS:,} queries; where a batch has more, its status lists "
            "those from nextQuery on."
        ),
        "parameters": [_parameter(each) for each in headers],
        "requestBody": {"required": True, "content": _json(Event)},
        "responses": {"2XX": {"description": "It is accepted."}},
    }


def _json(model: type[BaseModel], **more: object) -> Schema:
    """The content of a body."""
    return {"application/json": {"schema": reference(model), **more}}


def _responses(endpoint: Endpoint) -> Schema:
    worked: Schema = {
        "description": "It worked.",
        "headers": _headers_of(HTTPStatus.OK, needs_key=endpoint.needs_key),
        "content": _json(endpoint.answer, example=endpoint.example),
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
        meanings = "\n".join(f"`{each.code}`: {each.meaning}" for each in refusals)
        refused = {"headers": headers, "description": meanings, "content": _json(Error)}
        responses[str(status.value)] = refused
    return responses


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
