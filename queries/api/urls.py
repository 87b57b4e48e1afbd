"""The addresses of the API."""

from django.urls import URLPattern, path

from queries.api import (
    attestation_views,
    client_file,
    documents,
    estimating,
    proof_views,
    second_generation,
    views,
    webhook_views,
)
from queries.routes import Routes
from queries.schema.batch_rules import BatchLimits


def addresses(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """All of them: the chains that may be asked for, and the most that one batch may have."""
    return [
        path(
            "submit-batch-query",
            views.submit_batch_query,
            {"routes": routes, "limits": limits},
            name="submit-batch-query",
        ),
        path(
            "estimate",
            estimating.estimate_batch,
            {"routes": routes, "limits": limits},
            name="estimate",
        ),
        path("batch-query-status", views.batch_query_status, name="batch-query-status"),
        path("batch-queries", views.batch_queries, name="batch-queries"),
        path("batch-queries/<str:batch>", views.batch_query, name="batch-query"),
        path("batch-queries/<str:batch>/cancel", views.cancel_batch, name="cancel-batch"),
        path(
            "batch-queries/<str:batch>/proof",
            proof_views.batch_proof,
            {"routes": routes},
            name="batch-proof",
        ),
        path("webhook-deliveries", webhook_views.webhook_deliveries, name="webhook-deliveries"),
        path(
            "webhook-deliveries/<str:event>/replay",
            webhook_views.replay_webhook,
            name="replay-webhook",
        ),
        path("webhook-secret", webhook_views.own_webhook_secret, name="webhook-secret"),
        path(
            "chain-connections",
            views.chain_connections,
            {"routes": routes},
            name="chain-connections",
        ),
        path(
            "attestations",
            attestation_views.give_attestation,
            {"routes": routes},
            name="attestations",
        ),
        path(
            "attestations/wanted",
            attestation_views.wanted_attestations,
            {"routes": routes},
            name="wanted-attestations",
        ),
        path(
            "submit-request",
            second_generation.submit_request,
            {"routes": routes, "limits": limits},
            name="submit-request",
        ),
        path("get_queries/<str:request_id>", second_generation.get_queries, name="get-queries"),
        path("get_actions/<str:query_id>", second_generation.get_actions, name="get-actions"),
        path("is-alive", second_generation.is_alive, name="is-alive"),
        path("openapi.json", documents.openapi, {"limits": limits}, name="openapi"),
    ]


def pages(limits: BatchLimits) -> list[URLPattern]:
    """For people: what the API takes and answers, and a client of it."""
    return [
        path("docs/api", documents.api_page, {"limits": limits}, name="api-docs"),
        path("tacitus.py", client_file.client_file, name="client"),
    ]
