"""The API's description of itself, OpenAPI 3.1, made of the endpoints and their models."""

from collections.abc import Sequence
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from pydantic import BaseModel

from accounts.http.errors import CommonCode
from accounts.http.site_address import site_address
from accounts.keys.check import HEADER, PARAMETER
from queries.api import responses
from queries.api.endpoint import Endpoint, Parameter, endpoint, error_codes, group_by_status
from queries.api.examples import body_examples, fill_in, route_example
from queries.api.responses import ErrorResponse
from queries.api.webhooks import HEADER_MEANINGS, WebhookEvent, retry_pauses
from queries.schema.batch_checks import BatchLimits
from queries.schema.bodies import BlocksBody
from queries.schema.json_schema import Schema, reference, schemas_of
from queries.sources import Routes
from queries.webhooks.payload import MAX_QUERIES
from queries.webhooks.post import ACCEPTED_STATUSES

_DESCRIPTION = (
    "Proves what a blockchain's state was, and makes it readable in a contract. Submit a batch, "
    "poll its status until it is DONE or REJECTED, then read the facts on chain. Each refusal has "
    "one shape: `error` is a sentence, `code` says the same to programs, `path` names the value at "
    "fault, and if `retryable` is false, sending the same again will not help. "
    "RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (seconds) say what the key has left; "
    "Retry-After comes with 429 and a retryable 503, and X-Request-ID, by which the operator finds "
    "the request in the log, with every response. "
    "HEAD works wherever GET does. Pages of other origins may send requests with a key (CORS), "
    "unless the operator turns that off; OPTIONS answers preflight requests. "
    "The server itself refuses what is not HTTP with 400, a URL of more than 8,190 bytes with "
    "414, and more than 100 headers or one of more than 8,190 bytes with 431, each in HTML."
)


@endpoint(
    "GET", "/openapi.json", "This description.", needs_key=False, file=responses.OpenApiResponse
)
def openapi(
    request: HttpRequest, endpoints: Sequence[Endpoint], routes: Routes, limits: BatchLimits
) -> HttpResponse:
    """The document, with a route of this server in its examples."""
    site = site_address(request)
    content = fill_in(document(endpoints, limits, site), site, route_example(routes))
    return JsonResponse(content, headers={"Cache-Control": "no-cache"})


def document(endpoints: Sequence[Endpoint], limits: BatchLimits, server: str) -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacitus",
            "version": settings.VERSION,
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": server}],
        "paths": _paths(endpoints),
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
    bodies = [endpoint.body for endpoint in endpoints if endpoint.body is not None]
    schemas = schemas_of(bodies, "validation")
    for name in {body.__name__ for body in bodies if issubclass(body, BlocksBody)}:
        schemas[name]["description"] += (
            f" At most {limits.body_bytes:,} bytes, {limits.blocks:,} blocks, {limits.accounts:,} "
            f"accounts and {limits.slots:,} slots in all."
        )
        blocks_of_chain = schemas[name]["properties"]["data"]["additionalProperties"]
        blocks_of_chain["maxProperties"] = limits.blocks
    schemas["WebhookBody"]["description"] += (
        f" At most {limits.webhook_headers:,} headers of {limits.webhook_header_bytes:,} bytes "
        "together."
    )
    responses = [endpoint.response for endpoint in endpoints]
    schemas |= schemas_of([*responses, WebhookEvent, ErrorResponse], "serialization")
    for name, member, limit in (
        ("AccountBody", "slots", limits.slots),
        ("BlockBody", "accounts", limits.accounts),
        ("WebhookBody", "headers", limits.webhook_headers),
    ):
        schema = schemas[name]["properties"][member]
        schema["maxItems" if schema["type"] == "array" else "maxProperties"] = limit
    codes = sorted({code.code for code in error_codes(endpoints)})
    schemas["ErrorResponse"]["properties"]["code"]["enum"] = codes
    return schemas


def _paths(endpoints: Sequence[Endpoint]) -> Schema:
    paths: Schema = {endpoint.path: {} for endpoint in endpoints}
    for described in endpoints:
        paths[described.path][described.method.lower()] = _operation(described)
    return paths


def _operation(endpoint: Endpoint) -> Schema:
    operation: Schema = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "security": [{"header": []}, {"bearer": []}, {"parameter": []}]
        if endpoint.needs_key
        else [],
        "parameters": [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": _responses(endpoint),
    }
    if endpoint.body:
        examples = {title: {"value": body} for title, body in body_examples(endpoint).items()}
        content = _json_content(endpoint.body, examples=examples)
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(parameter: Parameter) -> Schema:
    return {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": parameter.schema,
    }


def _webhook() -> Schema:
    headers = (
        Parameter(name, meaning, {"type": "string"}, "header", required=True)
        for name, meaning in HEADER_MEANINGS.items()
    )
    return {
        "operationId": "batchEnded",
        "summary": "Sent to a batch's webhook when the batch is DONE or REJECTED.",
        "description": (
            f"Any status from {ACCEPTED_STATUSES.start} to {ACCEPTED_STATUSES.stop - 1} accepts "
            f"it. Otherwise it is sent again after {', '.join(retry_pauses())}; then it is given "
            "up. Redirects are not followed. It lists at most "
            f"{MAX_QUERIES:,} queries; if a batch has more, its status lists "
            "those from nextQuery on."
        ),
        "parameters": [_parameter(header) for header in headers],
        "requestBody": {"required": True, "content": _json_content(WebhookEvent)},
        "responses": {"2XX": {"description": "The receiver accepts it."}},
    }


def _json_content(model: type[BaseModel], **members: object) -> Schema:
    return {"application/json": {"schema": reference(model), **members}}


def _responses(endpoint: Endpoint) -> Schema:
    success: Schema = {
        "description": "Success.",
        "content": _json_content(endpoint.response, example=endpoint.example),
    }
    if endpoint.links:
        success["links"] = {
            link.endpoint: {
                "operationId": link.endpoint,
                "parameters": {link.parameter: f"$response.body#{link.pointer}"},
            }
            for link in endpoint.links
        }
    responses: Schema = {str(HTTPStatus.OK.value): success}
    for status, codes in group_by_status((*endpoint.errors, *CommonCode)).items():
        responses[str(status.value)] = {
            "description": "\n".join(f"`{code.code}`: {code.meaning}" for code in codes),
            "content": _json_content(ErrorResponse),
        }
    return responses
