"""`deploy_registry` deploys registries on a real chain, or explains in a sentence why not."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from eth_abi.abi import decode

from explorer.demo.local_node import LocalNode, local_node
from queries.contracts.abi import call_data, load_artifact
from queries.contracts.create2 import (
    FACTORY,
    SALT,
    courier_address,
    courier_init_code,
    verifier_address,
)
from queries.proving.registry_calls import HORIZON
from queries.sources import KINDS
from queries.sources.arbitrum import ArbitrumRegistry
from queries.sources.attested import AttestedRegistry
from queries.sources.deployment import has_built_code
from queries.sources.native import NativeRegistry
from queries.sources.optimism import OptimismRegistry
from queries.sources.output import OutputRegistry
from queries.sources.registry import (
    Registry,
    RegistryKind,
    deployment_calldata,
    derived_address,
    lookup_address,
)
from queries.sources.routes import read_routes
from tests.queries.attacks.hash_sources import SIGNERS
from tests.queries.attacks.registry_attacks import put_predeploy
from tests.queries.management.local_setup import ADDRESS, CHAIN_ID, LocalSetup
from tests.rigs.deployed_contracts import reverted_at_end
from tests.rigs.faulty_node import relay

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

SOURCE = 5
NATIVE = ("--source", str(CHAIN_ID), "--destination", str(CHAIN_ID), "--kind", "native")
OPTIMISM = ("--source", str(SOURCE), "--destination", str(CHAIN_ID), "--kind", "optimism")
ATTESTED = ("--source", str(SOURCE), "--destination", str(CHAIN_ID), "--kind", "attested")
GAMES = SIGNERS[2].address
OUTPUT = (*OPTIMISM[:5], "output", "--portal", GAMES)
TWO_SIGNERS = ",".join(signer.address for signer in reversed(SIGNERS[:2]))
SIGNER_OPTIONS = ("--signers", TWO_SIGNERS, "--threshold", "2")


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_mine", hex(3))
        yield running


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path, node: LocalNode) -> Iterator[LocalSetup]:
    """A setup without registries; deployments are undone."""
    local_setup = LocalSetup(settings, tmp_path)
    local_setup.add_chain(CHAIN_ID, "Local", [node.url])
    local_setup.add_chain(SOURCE, "Elsewhere", ["http://127.0.0.1:1"])
    with reverted_at_end(node):
        yield local_setup


def add_deployed(setup: LocalSetup, printed: str) -> str:
    """Append the printed lines to the routes file, and return the registry's address."""
    assert f"paid for by {ADDRESS}" in printed
    assert "waiting for a block" in printed
    before, _, lines = printed.partition("[[registries]]")
    assert before.endswith("Add these lines to ROUTES_FILE:\n\n")
    setup.add(f"[[registries]]{lines}")
    (registry,) = read_routes(setup.file).registries.values()
    return registry.address


def has_genuine_code(node: LocalNode, kind: type[Registry], address: str) -> bool:
    return has_built_code(kind, bytes.fromhex(node.rpc.ask("eth_getCode", address, "latest")[2:]))


def test_an_optimism_registry_needs_the_predeploy(setup: LocalSetup, node: LocalNode) -> None:
    printed = setup.run("deploy_registry", *OPTIMISM)
    assert (
        "FAILED: Local is not an OP-stack chain (no code at 0x4200000000000000000000000000"
        in printed
    )
    put_predeploy(node)
    address = add_deployed(setup, setup.run("deploy_registry", *OPTIMISM))
    assert has_genuine_code(node, OptimismRegistry, address)


@pytest.mark.parametrize(
    ("options", "reader"),
    [
        ((*NATIVE, "--horizon"), "HORIZON()"),
        ((*ATTESTED, *SIGNER_OPTIONS, "--valid-until"), "validUntil()"),
    ],
)
def test_an_earlier_end_is_deployed_and_written_to_the_routes_file(
    setup: LocalSetup, node: LocalNode, options: tuple[str, ...], reader: str
) -> None:
    printed = setup.run("deploy_registry", *options, "2027-06-30")
    assert "2027-06-30T00:00:00Z" in printed
    assert "Only that ends its events verifier" in printed
    end = int.from_bytes(node.call(add_deployed(setup, printed), call_data(reader)))
    assert end == datetime(2027, 6, 30, tzinfo=UTC).timestamp()


def test_a_signer_may_be_a_delegated_account_but_not_a_contract(
    setup: LocalSetup, node: LocalNode
) -> None:
    """Only a key can sign."""
    options = (*ATTESTED, *SIGNER_OPTIONS)
    contract = TWO_SIGNERS.partition(",")[0]
    with reverted_at_end(node):
        node.rpc.ask("anvil_setCode", contract, "0x600160015260206000f3")
        printed = setup.run("deploy_registry", *options)
        assert f"FAILED: The signer {contract} is a contract on Local" in printed
        node.rpc.ask("anvil_setCode", contract, f"0xef0100{GAMES[2:]}")
        add_deployed(setup, setup.run("deploy_registry", *options))


def test_an_output_registry_needs_the_rollups_portal(setup: LocalSetup, node: LocalNode) -> None:
    printed = setup.run("deploy_registry", *OUTPUT)
    assert f"FAILED: {GAMES} on Local is not the portal of a chain that a registry can" in printed
    games = load_artifact("DisputeGamesStandIn").deployed_bytecode
    node.rpc.ask("anvil_setCode", GAMES, f"0x{games.hex()}")
    assert f"FAILED: The portal {GAMES} is of chain 0, not {SOURCE}." in setup.run(
        "deploy_registry", *OUTPUT
    )
    node.rpc.ask("anvil_setStorageAt", GAMES, "0x0", f"0x{SOURCE:064x}")
    address = add_deployed(setup, setup.run("deploy_registry", *OUTPUT))
    assert has_genuine_code(node, OutputRegistry, address)
    assert node.call(address, call_data("sourceChainId()")) == SOURCE.to_bytes(32, "big")
    portal = node.call(address, call_data("portal()"))
    assert portal[12:] == bytes.fromhex(GAMES[2:])


def test_a_deployed_registry_costs_nothing_and_needs_no_key(
    setup: LocalSetup, node: LocalNode
) -> None:
    routes = setup.file.read_text()
    address = add_deployed(setup, setup.run("deploy_registry", *NATIVE))
    setup.sign_with("")
    head = node.rpc.ask("eth_blockNumber")
    sentence = "The native registry of Local's facts is on Local already, and nothing was sent."
    beside = f"The events verifier {verifier_address(address)} is on Local already, and nothing"
    courier = f"The courier {courier_address()} is on Local already, and nothing was sent."
    printed = f"{sentence}\n{beside} was sent.\n{courier}\n"
    assert setup.run_apart("deploy_registry", *NATIVE) == (printed, "")
    setup.file.write_text(routes)
    progress, lines = setup.run_apart("deploy_registry", *NATIVE)
    assert sentence in progress
    assert f'address = "{address}"' in lines
    assert node.rpc.ask("eth_blockNumber") == head


def test_every_constructor_argument_changes_the_address() -> None:
    signers = tuple(signer.address for signer in SIGNERS[:3])
    attested = AttestedRegistry(SOURCE, CHAIN_ID, signers=signers, threshold=2)
    output = OutputRegistry(SOURCE, CHAIN_ID, portal=signers[0])
    registries = [
        attested, replace(attested, source=SOURCE + 1), replace(attested, threshold=3),
        replace(attested, signers=signers[:2]), replace(attested, valid_until=HORIZON - 1),
        replace(attested, horizon=HORIZON - 1), output, replace(output, source=SOURCE + 1),
        replace(output, portal=signers[1]),
        ArbitrumRegistry(SOURCE, CHAIN_ID, outbox=signers[0]),
    ]  # fmt: skip
    assert len(set(map(derived_address, registries))) == len(registries)
    assert derived_address(replace(attested, signers=signers[::-1])) == derived_address(attested)


def test_a_chain_without_the_genuine_factory_is_reported(
    setup: LocalSetup, node: LocalNode
) -> None:
    node.rpc.ask("anvil_setCode", FACTORY, "0x")
    printed = setup.run("deploy_registry", *NATIVE)
    assert f"FAILED: Local has no CREATE2 factory at {FACTORY}." in printed
    node.rpc.ask("anvil_setCode", FACTORY, "0x00")
    printed = setup.run("deploy_registry", *NATIVE)
    assert f"the contract at {FACTORY} is not the CREATE2 factory." in printed


def test_stdout_can_be_appended_to_the_routes_file(setup: LocalSetup) -> None:
    """This works even if the file's last line has no newline."""
    setup.file.write_text(setup.file.read_text().rstrip())
    progress, lines = setup.run_apart("deploy_registry", *NATIVE)
    assert "Deployed in block" in progress
    with setup.file.open("a") as file:
        file.write(lines)
    (registry,) = read_routes(setup.file).registries.values()
    assert registry.kind is RegistryKind.NATIVE


@pytest.mark.parametrize("is_deployed", [True, False])
def test_a_missing_courier_is_deployed_once(
    setup: LocalSetup, node: LocalNode, *, is_deployed: bool
) -> None:
    """On the destination, for all of its registries."""
    if is_deployed:
        node.send(FACTORY, SALT + courier_init_code())
    put_predeploy(node)
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    setup.add_registry("optimism", SOURCE, CHAIN_ID)
    progress = setup.run("deploy_registry")
    assert progress.count(f"Deploying the courier {courier_address()} on Local, paid for by ") == (
        0 if is_deployed else 1
    )
    code = node.rpc.ask("eth_getCode", courier_address(), "latest")
    assert code == f"0x{load_artifact('Courier').deployed_bytecode.hex()}"


def test_a_missing_events_verifier_is_deployed(setup: LocalSetup, node: LocalNode) -> None:
    """Its registry was deployed before, by anyone."""
    registry = NativeRegistry(CHAIN_ID, CHAIN_ID)
    node.send(FACTORY, deployment_calldata(registry))
    node.send(FACTORY, SALT + courier_init_code())
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    progress, lines = setup.run_apart("deploy_registry")
    verifier = verifier_address(derived_address(registry))
    assert f"Deploying the events verifier {verifier} on Local, paid for by {ADDRESS}" in progress
    assert progress.count("Deployed in block") == progress.count("It takes ") == 1
    assert lines == ""
    beside = node.call(verifier, call_data("REGISTRY()"))
    assert beside[12:] == bytes.fromhex(derived_address(registry)[2:])


def test_a_lookup_with_these_gateways_is_deployed_beside_a_registry(
    setup: LocalSetup, node: LocalNode
) -> None:
    """It is deployed once, and the printed lines name the gateways."""
    urls = ["https://a.example/ccip/{sender}/{data}", "https://b.example/{sender}/{data}.json"]
    options = (*NATIVE, "--lookup-urls", ", ".join(urls))
    address = add_deployed(setup, setup.run("deploy_registry", *options))
    (registry,) = read_routes(setup.file).registries.values()
    lookup = lookup_address(registry)
    (named,) = decode(["string[]"], node.call(lookup, call_data("urls()")))
    assert list(named) == urls
    beside = {"REGISTRY()": address, "VERIFIER()": verifier_address(address)}
    for reader, expected in beside.items():
        assert node.call(lookup, call_data(reader))[12:] == bytes.fromhex(expected[2:])
    assert f"The lookup {lookup} is on Local already" in setup.run("deploy_registry")
    without_data = setup.run("deploy_registry", *NATIVE, "--lookup-urls", "https://a.example/")
    assert "it must be an http or https address with {sender} and {data}" in without_data


def test_all_registries_of_the_routes_file_are_deployed(setup: LocalSetup, node: LocalNode) -> None:
    """A registry with another version's address is reported."""
    assert "FAILED: ROUTES_FILE names no registry." in setup.run("deploy_registry")
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    setup.add_registry("optimism", SOURCE, CHAIN_ID, GAMES)
    progress, ending = setup.run_apart("deploy_registry")
    assert ending == "FAILED: Not deployed: 1 of 2."
    assert "Deployed in block" in progress
    native, optimism = (KINDS[RegistryKind(kind)](1, 1) for kind in ("native", "optimism"))
    subject = "The optimism registry of Elsewhere's facts on Local"
    assert f"{subject}: ROUTES_FILE has the address {GAMES}, but " in progress
    assert f"this version's registry would be at {derived_address(optimism)}." in progress
    assert "remove `address` to deploy another registry, or restore the key." in progress
    assert has_genuine_code(node, NativeRegistry, derived_address(native))


def test_nothing_is_sent_by_a_dry_run_or_where_nobody_answers(
    setup: LocalSetup, node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    sent = node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest")
    tried = setup.run("deploy_registry", "--dry-run")
    assert tried.count("It takes ") >= 2
    assert "Its cost can be estimated once the contract beside it is deployed." in tried
    monkeypatch.setattr("sys.stdin", StringIO())
    with pytest.raises(CommandError, match="Not deployed: 1 of 1"):
        call_command("deploy_registry", stderr=(errors := StringIO()))
    assert "Nothing was sent. Where nobody answers, pass --yes." in errors.getvalue()
    assert node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest") == sent


def test_the_cost_is_shown_before_anything_is_sent(setup: LocalSetup) -> None:
    printed = setup.run("deploy_registry", *NATIVE)
    assert printed.index("It takes 4,") < printed.index("Sent 0x")
    assert " gwei, and at most 0.0" in printed
    assert "The signer has 10,000 ETH." in printed


def test_a_deployment_may_take_more_gas_than_osakas_cap(
    settings: LazySettings, tmp_path: Path
) -> None:
    """After Amsterdam, a byte of code costs 1,530 gas."""

    def change(method: str, _: list[Any], response: dict[str, Any]) -> dict[str, Any]:
        if method != "eth_estimateGas":
            return response
        return {"result": hex(5 * int(response["result"], 16))}

    with local_node(hardfork="prague") as node, relay(node.url, change) as url:
        node.rpc.ask("anvil_mine", hex(3))
        setup = LocalSetup(settings, tmp_path)
        setup.add_chain(CHAIN_ID, "Local", [url], "gas_cap = 30000000", "finality = 0")
        address = add_deployed(setup, setup.run("deploy_registry", *NATIVE))
        assert has_genuine_code(node, NativeRegistry, address)
        blocks = (node.rpc.ask("eth_getBlockByNumber", hex(n), True) for n in range(3, 6))
        limits = [int(sent["gas"], 16) for block in blocks for sent in block["transactions"]]
        assert max(limits) > 2**24


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--source", "7", *NATIVE[2:]], "31337, 5)."),
        ([*NATIVE[:2], "--destination", "7", *NATIVE[4:]], "the new registry.destination: it must"),
        (["--source", "5", *NATIVE[2:]], "source and destination are equal for native"),
        ([*NATIVE[:4], "--kind", "optimism"], "source and destination are equal for native"),
        ([*NATIVE, "--threshold", "1"], "the new registry: threshold is unknown; the keys are "),
        (
            [*ATTESTED, *SIGNER_OPTIONS, "--valid-until", "soon"],
            "argument --valid-until: invalid utc_time value: 'soon'",
        ),
        (
            [*ATTESTED, *SIGNER_OPTIONS, "--valid-until", "2020-01-01"],
            "`valid_until` is past",
        ),
        ([*OUTPUT[:-2]], "the new registry.portal: it must be set"),
        ([*NATIVE, *OUTPUT[-2:]], "the new registry: portal is unknown"),
        ([*NATIVE, "--wait", "nan"], "argument --wait: 'nan'; use a whole number from 1"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_reported_before_anything_is_sent(
    setup: LocalSetup, node: LocalNode, arguments: list[str], sentence: str
) -> None:
    nonce = node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest")
    printed = setup.run("deploy_registry", *arguments)
    assert printed.startswith("FAILED: ")
    assert sentence in printed
    assert node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest") == nonce


def test_a_native_registry_needs_a_chain_whose_contracts_see_its_hashes(
    setup: LocalSetup, node: LocalNode
) -> None:
    def change(method: str, params: list[Any], response: dict[str, Any]) -> dict[str, Any]:
        reads_hash = method == "eth_call" and "to" not in params[0]
        return {"result": "0x" + "ab" * 32} if reads_hash else response

    nonce = node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest")
    with relay(node.url, change) as address:
        setup.file.write_text("")
        setup.add_chain(CHAIN_ID, "Local", [address])
        printed = setup.run("deploy_registry", *NATIVE)
    assert "FAILED: Contracts on Local do not see its own block hashes" in printed
    assert node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest") == nonce


# The router


def test_an_events_router_has_the_verifiers_of_all_registries(
    setup: LocalSetup, node: LocalNode
) -> None:
    """Except of a chain whose id is too long for the peer's interface."""
    setup.add_chain(2**32, "Far", ["http://127.0.0.1:1"])
    command = ("deploy_router", "--destination", str(CHAIN_ID), "--events")
    for source in (SOURCE, 2**32):
        options = (*ATTESTED[2:], "--source", str(source), *SIGNER_OPTIONS)
        setup.add(setup.run_apart("deploy_registry", *options)[1])
    registries = read_routes(setup.file).registries
    verifiers = {
        source: verifier_address(registry.address) for (source, _), registry in registries.items()
    }
    with reverted_at_end(node):
        node.rpc.ask("anvil_setCode", verifiers[SOURCE], "0x")
        sentence = f"FAILED: The events verifier of chain {SOURCE} is not deployed."
        assert sentence in setup.run(*command)
    progress, address = setup.run_apart(*command)
    assert f"Deploying the events router on Local, paid for by {ADDRESS}" in progress
    for source, expected in ((SOURCE, verifiers[SOURCE]), (2**32, "0x" + 20 * "00")):
        routed = node.call(address.strip(), call_data("verifierOf(uint256)", source))
        assert routed[12:] == bytes.fromhex(expected[2:])


def test_a_router_has_all_registries_of_its_destination(setup: LocalSetup, node: LocalNode) -> None:
    command = ("deploy_router", "--destination", str(CHAIN_ID))
    assert f"FAILED: ROUTES_FILE has no registry on chain {CHAIN_ID}." in setup.run(*command)
    setup.add(setup.run_apart("deploy_registry", *ATTESTED, *SIGNER_OPTIONS)[1])
    native = derived_address(NativeRegistry(CHAIN_ID, CHAIN_ID))
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    assert f"FAILED: The registry of chain {CHAIN_ID} is not deployed." in setup.run(*command)
    setup.run("deploy_registry")
    progress, address = setup.run_apart(*command)
    assert f"Deploying the router on Local, paid for by {ADDRESS}" in progress
    (chains,) = decode(["uint256[]"], node.call(address.strip(), call_data("chainIds()")))
    assert set(chains) == {SOURCE, CHAIN_ID}
    registries = read_routes(setup.file).registries
    for source in (SOURCE, CHAIN_ID):
        registry = node.call(address.strip(), call_data("registryOf(uint256)", source))
        assert registry[12:] == bytes.fromhex(registries[source, CHAIN_ID].address[2:])
    setup.sign_with("")
    progress, second_output = setup.run_apart(*command)
    assert "The router is on Local already, and nothing was sent." in progress
    assert second_output == address
