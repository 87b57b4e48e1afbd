"""The API's description of itself, OpenAPI 3.1, made of what the code knows."""

from http import HTTPStatus
from typing import Any

from django.conf import settings

from accounts.errors import Code
from accounts.key_check import HEADER, PARAMETER
from queries.api.answer_schema import answer_schemas
from queries.api.attestation_schema import ATTESTATION_EXAMPLE, attestation_schema
from queries.api.described_headers import headers_of
from queries.api.endpoint import Endpoint
from queries.api.endpoints import ANYWHERE, ENDPOINTS, by_status, every_refusal
from queries.api.example_answers import EXAMPLE_ANSWERS
from queries.api.request_schema import (
    EVERYTHING_EXAMPLE,
    LATER_EXAMPLE,
    SPECIFICATION_EXAMPLE,
    Schema,
    request_schemas,
)
from queries.api.webhook_description import webhooks
from queries.schema.batch_rules import BatchLimits

EXAMPLES_OF_BODIES: dict[str, dict[str, dict[str, Any]]] = {
    "BatchRequest": {
        "specification": {"summary": "One balance.", "value": SPECIFICATION_EXAMPLE},
        "everything": {"summary": "All that can be asked for.", "value": EVERYTHING_EXAMPLE},
    },
    "LaterRequest": {"request": {"summary": "One balance.", "value": LATER_EXAMPLE}},
    "Attestation": {"word": {"summary": "A signer's word.", "value": ATTESTATION_EXAMPLE}},
}
_ABOUT = (
    "Proves what a blockchain's state was, and makes it readable in a contract. Submit a batch, "
    "poll its status until it is DONE or REJECTED, then read the facts on chain. Each refusal has "
    "one shape: `error` is a sentence, `code` says the same to programs, `path` names the value at "
    "fault, and where `retryable` is false, sending the same again will not help. "
    "Where GET is taken, HEAD is too. Pages of other origins may ask with the key in the request, "
    "unless the operator keeps them out; OPTIONS answers to browsers that ask first. "
    "The server itself refuses what is not HTTP with 400, an address of more than 8,190 bytes with "
    "414, and more than 100 headers or one of more than 8,190 bytes with 431, each in HTML."
)


def document(limits: BatchLimits, server: str) -> dict[str, object]:
    refusals = every_refusal()
    codes = sorted({each.code for each in refusals})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacitus",
            "version": settings.VERSION,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": server}],
        "paths": {
            endpoint.path: {endpoint.method.lower(): _operation(endpoint)} for endpoint in ENDPOINTS
        },
        "webhooks": webhooks(),
        "components": {
            "securitySchemes": {
                "header": {"type": "apiKey", "in": "header", "name": HEADER},
                "bearer": {"type": "http", "scheme": "bearer"},
                "parameter": {
                    "type": "apiKey",
                    "in": "query",
                    "name": PARAMETER,
                    "description": (
                        "As existing clients send it. Take the header, which decides where both "
                        "come: addresses end up in logs."
                    ),
                },
            },
            "schemas": {
                **request_schemas(limits),
                "Attestation": attestation_schema(),
                **answer_schemas(codes),
                "Description": {"type": "object", "required": ["openapi", "info", "paths"]},
            },
        },
    }


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
    return operation | {"requestBody": _body(endpoint)} if endpoint.body else operation


def _body(endpoint: Endpoint) -> Schema:
    content = {"schema": _schema(endpoint.body), "examples": EXAMPLES_OF_BODIES[endpoint.body]}
    return {"required": True, "content": {"application/json": content}}


def _responses(endpoint: Endpoint) -> Schema:
    worked: Schema = {
        "description": "It worked.",
        "headers": headers_of(HTTPStatus.OK, needs_key=endpoint.needs_key),
        "content": {"application/json": _answered(endpoint.answer)},
    }
    if endpoint.links:
        worked["links"] = {
            each.endpoint: {
                "operationId": each.endpoint,
                "parameters": {each.parameter: f"$response.body#{each.place}"},
            }
            for each in endpoint.links
        }
    told: Schema = {str(HTTPStatus.OK.value): worked}
    for status, refusals in by_status((*endpoint.refusals, *ANYWHERE)).items():
        headers = headers_of(status, needs_key=endpoint.needs_key)
        told[str(status.value)] = {"headers": headers} | _refused(refusals)
    return told


def _refused(refusals: list[Code]) -> Schema:
    return {
        "description": "\n".join(f"`{each.code}`: {each.meaning}" for each in refusals),
        "content": {
            "application/json": {
                "schema": {
                    "allOf": [
                        _schema("Error"),
                        {"properties": {"code": {"enum": [each.code for each in refusals]}}},
                    ]
                }
            }
        },
    }


def _answered(name: str) -> Schema:
    example = EXAMPLE_ANSWERS.get(name)
    content: Schema = {"schema": _schema(name)}
    return content | {"example": example} if example else content


def _schema(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
