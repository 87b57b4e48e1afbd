"""The kinds of registries, each a class, and which one connects two networks.

`HASHES` is the table: each kind, and how it finds the hashes that it knows. `init` chooses the
first kind that connects two networks, so those that need the least trust stand first.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from queries.config.networks import NETWORK_HORIZON, Network
from queries.sources.arbitrum import ArbitrumHashes, ArbitrumRegistry
from queries.sources.attested import AttestedHashes, AttestedRegistry
from queries.sources.beacon import BeaconHashes, BeaconRegistry
from queries.sources.hashes import SourceHashes
from queries.sources.native import NativeHashes, NativeRegistry
from queries.sources.optimism import OptimismHashes, OptimismRegistry
from queries.sources.output import OutputHashes, OutputRegistry
from queries.sources.registry import Registry, with_derived_address

HASHES: Mapping[type[Registry], type[SourceHashes[Any]]] = {
    NativeRegistry: NativeHashes,
    OptimismRegistry: OptimismHashes,
    OutputRegistry: OutputHashes,
    ArbitrumRegistry: ArbitrumHashes,
    BeaconRegistry: BeaconHashes,
    AttestedRegistry: AttestedHashes,
}
KINDS: Mapping[str, type[Registry]] = {kind.kind: kind for kind in HASHES}


def has_route(source: Network, destination: Network) -> bool:
    """Whether there is a registry for the route."""
    return source != destination or source.sees_own_hashes


def route_kind(source: Network, destination: Network) -> type[Registry]:
    """The kind of registry that needs the least trust on the route."""
    return next(kind for kind in KINDS.values() if kind.connects(source, destination))


def network_registry(
    source: Network, destination: Network, *, checkpoint: bytes = b"", **options: Any
) -> Registry:
    """This version's registry of the route; a beacon route without a checkpoint is attested.
    `options` are the signers and their threshold.
    """
    kind = route_kind(source, destination)
    if kind is BeaconRegistry and not checkpoint:
        kind = AttestedRegistry
    registry = kind.for_networks(source, destination, checkpoint=checkpoint, **options)
    return with_derived_address(replace(registry, horizon=NETWORK_HORIZON))
