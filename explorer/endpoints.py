"""All endpoints of the API, in the groups and the order of the docs.

OpenAPI, the reference and the URL patterns are made of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

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
from queries.api.endpoint import Endpoint
from queries.compat import event_proofs, second_generation
from queries.compat.routers import router_addresses
from queries.reading import FeedView
from queries.schema.batch_checks import BatchLimits
from queries.sources import Routes


@dataclass(frozen=True, slots=True)
class EndpointGroup:
    """Endpoints with a page of their own in the docs."""

    title: str
    lead: str
    endpoints: tuple[Endpoint, ...]


GROUPS = {  # by the name of the page
    "batches": EndpointGroup(
        "Batches",
        "Estimate, submit, follow and cancel batches, and download their proofs.",
        (
            batches.submit_batch_query,
            estimates.estimate,
            estimates.witness,
            batches.batch_query_status,
            batches.batch_query,
            batches.cancel_batch,
            batches.batch_queries,
            batches.batch_proof,
        ),
    ),
    "feeds": EndpointGroup(
        "Feeds",
        "Create, list, pause and end feeds, which submit the same batch whenever it is due.",
        (
            feeds.post_feed,
            feeds.get_feeds,
            feeds.get_feed,
            feeds.patch_feed,
            feeds.post_run,
            feeds.delete_feed,
        ),
    ),
    "hooks": EndpointGroup(
        "Webhook calls",
        "List and repeat webhook calls, and read the secret that signs them.",
        (webhooks.webhook_deliveries, webhooks.replay_webhook, webhooks.webhook_secret),
    ),
    "attestations": EndpointGroup(
        "Attestations",
        "For the signers of attested registries.",
        (attestations.submit_attestation, attestations.wanted_attestations),
    ),
    "lookups": EndpointGroup(
        "Lookups",
        "The gateway of FactsLookup (ERC-3668), for front ends and contracts.",
        (lookups.get_lookup, lookups.post_lookup),
    ),
    "server": EndpointGroup(
        "Routes and keys",
        "The routes of this server, the limits of a key, and the API's description of itself.",
        (routes.chain_connections, routes.api_key, openapi.openapi),
    ),
    "other-clients": EndpointGroup(
        "Existing clients",
        "For existing clients of other services, which need only a new base URL and a key.",
        (
            second_generation.submit_request,
            second_generation.get_queries,
            second_generation.get_actions,
            event_proofs.event_proofs,
            second_generation.is_alive,
        ),
    ),
}
ENDPOINTS = tuple(endpoint for group in GROUPS.values() for endpoint in group.endpoints)


def url_patterns(
    routes: Routes, limits: BatchLimits, feed_words: Callable[[FeedView, Routes], str]
) -> list[URLPattern]:
    """The URL patterns of all endpoints, with these routes and batch limits. `feed_words`: the
    sentence of a feed, which pages have too; they are not imported here.
    """
    configuration: dict[str, object] = {
        "routes": routes,
        "limits": limits,
        "endpoints": ENDPOINTS,
        "feed_sentence": lambda feed: feed_words(feed, routes),
        "routers": router_addresses(routes.registries.values()),
    }
    return endpoint.url_patterns(ENDPOINTS, configuration)
