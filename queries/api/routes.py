"""Endpoints about the routes of this server, and about the API key."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.conf import settings
from django.http import HttpRequest

from accounts.http.rate_limits import usage_by_subject
from accounts.keys import manage
from accounts.models import ApiKey
from accounts.wording import MINUTE
from queries.api import responses
from queries.api.endpoint import endpoint
from queries.contracts.create2 import courier_address, verifier_address
from queries.reading import HeadView, last_final_block, read_chain_heads, state_horizon
from queries.sources import (
    Registry,
    Routes,
    constructor_arguments,
    has_derived_address,
    lookup_address,
    lookup_arguments,
)


@endpoint(
    "GET",
    "/chain-connections",
    "The routes of this server: which chain's facts can be proven on which destination.",
    needs_key=False,
)
def chain_connections(
    _request: HttpRequest, routes: Routes, routers: Mapping[int, tuple[str, str]]
) -> responses.ConnectionListResponse:
    """`routers`: the router and the events router of each destination."""
    heads = read_chain_heads(routes.chains)
    return responses.ConnectionListResponse(
        connections=[
            _connection(registry, routes, heads, routers[registry.destination])
            for _, registry in sorted(routes.registries.items())
        ]
    )


def _connection(
    registry: Registry, routes: Routes, heads: Mapping[int, HeadView], routers: tuple[str, str]
) -> responses.ConnectionResponse:
    source, head = routes.chains[registry.source], heads.get(registry.source)
    router, events_router = routers
    return responses.ConnectionResponse(
        origin_chain_id=registry.source,
        destination_chain_id=registry.destination,
        origin=responses.ChainResponse.model_validate(source),
        destination=responses.ChainResponse.model_validate(routes.chains[registry.destination]),
        kind=registry.kind,
        registry=registry.address,
        events_verifier=verifier_address(registry.address),
        lookup=lookup_address(registry) if registry.lookup_urls else None,
        lookup_arguments=f"0x{lookup_arguments(registry).hex()}" if registry.lookup_urls else None,
        router=router,
        events_router=events_router,
        courier=courier_address(),
        constructor_arguments=f"0x{constructor_arguments(registry).hex()}",
        verifiable=has_derived_address(registry),
        horizon=datetime.fromtimestamp(registry.horizon, UTC),
        state_horizon=datetime.fromtimestamp(state_horizon(registry, heads), UTC),
        newest_block=head.number if head else None,
        final_block=last_final_block(head, source, registry.destination) if head else None,
        blocks_back=head.proof_window if head else None,
    )


@endpoint("GET", "/api-key", "Your key's name, owner, limits and use. Call it to test the key.")
def api_key(_request: HttpRequest, key: ApiKey) -> responses.ApiKeyResponse:
    usage_subject = manage.usage_subject(key)
    use = usage_by_subject([usage_subject])[usage_subject]
    limits = responses.KeyLimitsResponse(requests=settings.REQUESTS_PER_MINUTE, seconds=MINUTE)
    return responses.ApiKeyResponse(
        id=key.id,
        name=key.name,
        owner=key.owner.owner_name,
        owner_chain_id=key.owner.chain_id,
        created=key.created_at,
        limits=limits,
        use=responses.KeyUseResponse.model_validate(use),
    )
