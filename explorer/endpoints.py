"""All endpoints of the API, in the order of the docs page.

OpenAPI, the reference and the URL patterns are made of them.
"""

from django.urls import URLPattern

from queries.api import (
    attestations,
    batches,
    endpoint,
    estimates,
    feeds,
    lookups,
    openapi,
    routes,
    webhooks,
)
from queries.compat import event_proofs, second_generation
from queries.compat.routers import router_addresses
from queries.schema.batch_checks import BatchLimits
from queries.sources import Routes

ENDPOINTS = (
    batches.submit_batch_query,
    estimates.estimate,
    estimates.witness,
    batches.batch_query_status,
    batches.batch_query,
    batches.cancel_batch,
    batches.batch_queries,
    batches.batch_proof,
    feeds.post_feed,
    feeds.get_feeds,
    feeds.get_feed,
    feeds.patch_feed,
    feeds.post_run,
    feeds.delete_feed,
    webhooks.webhook_deliveries,
    webhooks.replay_webhook,
    webhooks.webhook_secret,
    attestations.submit_attestation,
    attestations.wanted_attestations,
    lookups.get_lookup,
    lookups.post_lookup,
    routes.chain_connections,
    routes.api_key,
    second_generation.submit_request,
    second_generation.get_queries,
    second_generation.get_actions,
    event_proofs.event_proofs,
    second_generation.is_alive,
    openapi.openapi,
)


def url_patterns(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """The URL patterns of all endpoints, with these routes and batch limits."""
    configuration: dict[str, object] = {
        "routes": routes,
        "limits": limits,
        "endpoints": ENDPOINTS,
        "routers": router_addresses(routes.registries.values()),
    }
    return endpoint.url_patterns(ENDPOINTS, configuration)
