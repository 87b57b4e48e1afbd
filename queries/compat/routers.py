"""The router contracts: what stands behind one on a destination chain, and its init code."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from eth_abi.abi import encode

from queries.contracts.abi import load_artifact
from queries.contracts.create2 import create2_address
from queries.sources import Registry

MAX_CHAIN_ID = 2**32 - 1  # ICrossL2ProverV2 has no longer ones


@dataclass(frozen=True, slots=True)
class Router:
    """A router to deploy."""

    title: str
    target: str  # what it passes calls on to: "registry" or "events verifier"
    addresses: dict[int, str]  # of the targets, by source chain
    contract: str
    types: tuple[str, str]  # of the constructor's arguments

    @property
    def init_code(self) -> bytes:
        sources = sorted(self.addresses)
        arguments = [sources, [self.addresses[source] for source in sources]]
        return load_artifact(self.contract).bytecode + encode(self.types, arguments)


def facts_router(registries: Iterable[Registry]) -> Router:
    """The router over these registries of a destination."""
    addresses = {registry.source: registry.address for registry in registries}
    return Router("router", "registry", addresses, "FactsRouter", ("uint256[]", "address[]"))


def events_router(registries: Iterable[Registry]) -> Router:
    """The router over the events verifiers beside these registries, except those of chains whose
    ids are too long for it.
    """
    addresses = {
        registry.source: registry.events_verifier
        for registry in registries
        if registry.source <= MAX_CHAIN_ID
    }
    types = ("uint32[]", "address[]")
    return Router("events router", "events verifier", addresses, "EventsRouter", types)


def router_addresses(registries: Collection[Registry]) -> dict[int, tuple[str, str]]:
    """The addresses of the router and the events router of each destination, deployed or not."""
    destinations: dict[int, list[Registry]] = {}
    for registry in registries:
        destinations.setdefault(registry.destination, []).append(registry)
    return {
        destination: (
            create2_address(facts_router(group).init_code),
            create2_address(events_router(group).init_code),
        )
        for destination, group in destinations.items()
    }
