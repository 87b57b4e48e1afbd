"""What holds for every kind of registry. A new kind needs a line in REGISTRIES."""

import tomllib
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.chain.errors import ChainError
from queries.config.chains import Chain, NodeAddress
from queries.contracts.create2 import FACTORY
from queries.proving.beacon_chains import BEACON_CHAINS
from queries.sources import KINDS
from queries.sources.arbitrum import ArbitrumRegistry
from queries.sources.attested import AttestedRegistry
from queries.sources.beacon import BeaconRegistry
from queries.sources.deployment import deployed_registry, has_built_code
from queries.sources.native import NativeRegistry
from queries.sources.optimism import OptimismRegistry
from queries.sources.output import OutputRegistry
from queries.sources.registry import (
    Registry,
    SetupError,
    constructor_arguments,
    deployment_calldata,
    derived_address,
    registry_with_arguments,
    route_lines,
    with_derived_address,
)
from queries.sources.routes import read_registry
from tests.queries.attacks.hash_sources import SOURCE_CHAIN, Games, Rollup
from tests.rigs.deployed_contracts import CHAIN_ID, DeployedContract

pytestmark = pytest.mark.no_database

ETHEREUM, ANOTHER_TIME = 1, 1_900_000_000
SIGNERS = tuple(f"0x{digit * 40}" for digit in "123")  # their checksums are themselves
REGISTRIES = [
    NativeRegistry(CHAIN_ID, CHAIN_ID),
    OptimismRegistry(ETHEREUM, CHAIN_ID),
    OutputRegistry(ETHEREUM, CHAIN_ID, portal=SIGNERS[0]),
    ArbitrumRegistry(ETHEREUM, CHAIN_ID, outbox=SIGNERS[0]),
    BeaconRegistry(ETHEREUM, CHAIN_ID, checkpoint=b"\1" * 32).with_beacon_chain(
        BEACON_CHAINS[ETHEREUM]
    ),
    AttestedRegistry(ETHEREUM, CHAIN_ID, signers=SIGNERS, threshold=2),
]
ENDED = AttestedRegistry(ETHEREUM, CHAIN_ID, signers=SIGNERS, threshold=2, valid_until=1)
every_registry = pytest.mark.parametrize("registry", REGISTRIES, ids=lambda entry: entry.kind)


def chains(url: str = "http://127.0.0.1:1/") -> dict[int, Chain]:
    nodes = (NodeAddress(url),)
    source = Chain(ETHEREUM, "Source", nodes, beacon=nodes, beacon_checkpoint=b"\1" * 32)
    return {ETHEREUM: source, CHAIN_ID: Chain(CHAIN_ID, "Destination", nodes)}


def test_each_kind_is_tried_here() -> None:
    assert [registry.kind for registry in REGISTRIES] == list(KINDS)


@every_registry
def test_its_lines_in_a_routes_file_give_the_same_registry(registry: Registry) -> None:
    registry = with_derived_address(replace(registry, horizon=ANOTHER_TIME))
    for with_defaults in (False, True):
        table = tomllib.loads("\n".join(route_lines(registry, with_defaults=with_defaults)))
        read = read_registry("registries, entry 1", table, chains())
        assert derived_address(read) == read.address == registry.address
        assert route_lines(read) == route_lines(registry)


@every_registry
def test_its_arguments_give_the_same_registry(registry: Registry) -> None:
    arguments = constructor_arguments(registry)

    def read(arguments: bytes) -> Registry:
        route = registry.source, registry.destination, registry.address
        return registry_with_arguments(type(registry), *route, arguments)

    assert constructor_arguments(read(arguments)) == arguments
    for malformed in (arguments[:-1], arguments + b"\0"):
        with pytest.raises(ValueError, match="malformed"):
            read(malformed)


@every_registry
def test_a_deployed_one_is_recognised(registry: Registry, shared_node: LocalNode) -> None:
    """By its code alone of all kinds, and with the arguments that its views return."""
    registry = _with_contracts(registry, shared_node)
    address = derived_address(registry)
    if shared_node.rpc.ask("eth_getCode", address, "latest") == "0x":
        shared_node.send(FACTORY, deployment_calldata(registry))
    chain = Chain(CHAIN_ID, "Local", (NodeAddress(shared_node.url),))
    with closing(ChainClient(chain)) as destination:
        code = destination.code(address)
        assert [kind for kind in KINDS.values() if has_built_code(kind, code)] == [type(registry)]
        found = deployed_registry(type(registry), registry.source, destination, address)
    assert constructor_arguments(found) == constructor_arguments(registry)
    assert (found.source, found.destination) == (registry.source, registry.destination)


def _with_contracts(registry: Registry, node: LocalNode) -> Registry:
    """The registry with rollup contracts that its constructor asks."""
    deploy = partial(DeployedContract, node)
    if isinstance(registry, OutputRegistry):
        return replace(registry, source=SOURCE_CHAIN, portal=Games(deploy).address)
    if isinstance(registry, ArbitrumRegistry):
        return replace(registry, source=SOURCE_CHAIN, outbox=Rollup(deploy).address)
    return registry


@every_registry
def test_it_says_what_it_trusts_and_knows(registry: Registry) -> None:
    sentences = [
        registry.trust_sentence("Source", "Destination"),
        registry.reach_sentence("Source"),
        registry.hash_origin(1)[1],
        registry.hash_origin(1_000)[1],
    ]
    assert all(sentence.endswith(".") and not sentence[0].islower() for sentence in sentences)
    assert registry.trust
    assert registry.trusted


@pytest.mark.parametrize(
    ("registry", "missing"),
    [
        (REGISTRIES[1], "is not an OP-stack chain"),
        (REGISTRIES[2], "is not the portal of a chain"),
        (REGISTRIES[3], "is not the outbox of a chain"),
        (ENDED, "no attestation"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_it_names_what_is_missing(registry: Registry, missing: str, node: LocalNode) -> None:
    """`check_setup` and `deploy_registry` ask this."""
    chain = Chain(CHAIN_ID, "Local", (NodeAddress(node.url),))
    with closing(ChainClient(chain)) as destination:
        checks: list[Any] = [
            lambda: registry.check_setup(destination, destination),
            lambda: registry.check_deployable(chain, destination),
        ]
        for check in checks:
            with pytest.raises((SetupError, ChainError)) as refusal:
                check()
            assert missing in str(refusal.value)
