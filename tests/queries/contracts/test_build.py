"""The committed build output matches the committed sources."""

import json

import pytest

from queries.client.python import routes
from queries.config.networks import NETWORK_HORIZON, NETWORKS
from queries.contracts.abi import BUILD, load_artifact
from queries.contracts.compiler import (
    OUTPUTS,
    SIZE_OPTIMISED_SETTINGS,
    SIZE_OPTIMISED_SOURCES,
    SOURCES,
    read_sources,
    standard_json_input,
)
from queries.contracts.create2 import FACTORY, courier_address
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON
from queries.sources import KINDS, network_registry
from queries.sources.attested import AttestedRegistry
from queries.sources.registry import (
    RegistryKind,
    constructor_arguments,
    derived_address,
    format_time,
)
from tests.builds import compile_cached

pytestmark = pytest.mark.no_database

MAX_BYTES = {"EventsVerifier": 12 * 1024, "BeaconRegistry": 21_500}
REGISTRIES = [f"{kind.capitalize()}Registry" for kind in RegistryKind]


def test_the_build_is_reproducible_from_the_published_input() -> None:
    """Comments change no bytecode, and so no address."""
    published = json.loads((BUILD / "standard-input.json").read_text())
    is_current = published == standard_json_input(read_sources())
    assert is_current, "the build does not match the sources: run make contracts"
    sources = {name: file["content"] for name, file in published["sources"].items()}
    commented = {name: f"{text}\n// Another comment.\n" for name, text in sources.items()}
    selected = {file: {name: OUTPUTS} for name, file in SOURCES.items()}
    settings = published["settings"] | {"outputSelection": selected}
    output = compile_cached(commented, settings)["contracts"]
    for name, source in SOURCES.items():
        built, artifact = output[source][name], load_artifact(name)
        assert bytes.fromhex(built["evm"]["bytecode"]["object"]) == artifact.bytecode
        assert built["abi"] == list(artifact.abi)


def test_some_are_built_from_the_same_sources_for_size() -> None:
    selected = {file: {name: OUTPUTS} for name, file in SIZE_OPTIMISED_SOURCES.items()}
    settings = SIZE_OPTIMISED_SETTINGS | {"outputSelection": selected}
    output = compile_cached(read_sources(), settings)["contracts"]
    for name, file in SIZE_OPTIMISED_SOURCES.items():
        artifact = load_artifact(name)
        assert bytes.fromhex(output[file][name]["evm"]["bytecode"]["object"]) == artifact.bytecode
        assert len(artifact.deployed_bytecode) <= MAX_BYTES[name]


def test_the_published_addresses_are_those_of_the_code() -> None:
    published = json.loads((BUILD / "addresses.json").read_text())
    horizons = {format_time(horizon): horizon for horizon in (NETWORK_HORIZON, HORIZON)}
    assert published["courier"] == courier_address()
    assert published["horizons"].keys() == horizons.keys()
    for moment, horizon in horizons.items():
        addresses = published["horizons"][moment]
        for kind in (RegistryKind.NATIVE, RegistryKind.OPTIMISM):
            assert addresses[kind] == derived_address(KINDS[kind](1, 1, horizon=horizon))
        for kind, name in ((RegistryKind.OUTPUT, "portal"), (RegistryKind.ARBITRUM, "outbox")):
            contracts = {net.chain: getattr(net, name) for net in NETWORKS.values()}
            assert addresses[kind] == {
                str(chain): derived_address(
                    KINDS[kind](chain, 1, horizon=horizon, **{name: contract})
                )
                for chain, contract in contracts.items()
                if contract
            }
    ethereum = NETWORKS["ethereum"]
    preset = published["horizons"][format_time(NETWORK_HORIZON)]["native"]
    registry = network_registry(ethereum, ethereum)
    assert registry
    assert registry.address == preset
    for name, code_hash in routes.CODE_HASHES.items():
        code = load_artifact(name).bytecode
        assert keccak256(code).hex() == code_hash
    attested = AttestedRegistry(5, 1, signers=(FACTORY,), threshold=1)
    code = load_artifact("AttestedRegistry").bytecode + constructor_arguments(attested)
    assert routes.create2_address(code) == derived_address(attested).lower()


def test_other_services_interfaces_are_imported_by_no_other_contract() -> None:
    others = {file: text for file, text in read_sources().items() if not file.startswith("compat/")}
    assert len(others) < len(read_sources())
    assert [file for file, text in others.items() if "compat/" in text] == []


@pytest.mark.parametrize("name", REGISTRIES)
def test_registries_fit_the_code_size_limit_and_take_no_ether(name: str) -> None:
    assert len(load_artifact(name).deployed_bytecode) <= 21_500
    assert not [
        entry for entry in load_artifact(name).abi if entry.get("stateMutability") == "payable"
    ]
