"""`deploy_registry` puts a registry on a real chain, or says in a sentence why not."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.registry_checks import is_as_built
from queries.config.registries import FACTORY, Registry, RegistryKind, address_of
from queries.config.routes import read_routes
from queries.contracts.abi import call_data, load_artifact
from queries.proving.registry_calls import HORIZON
from tests.queries.attacks.attestations import SIGNERS
from tests.queries.attacks.registry_attacks import put_predeploy
from tests.queries.management.local_setup import ADDRESS, CHAIN_ID, LocalSetup
from tests.rigs.local_chain import undone
from tests.rigs.relay import relay

pytestmark = pytest.mark.no_database

SOURCE = 5
NATIVE = ("--source", str(CHAIN_ID), "--destination", str(CHAIN_ID), "--kind", "native")
OPTIMISM = ("--source", str(SOURCE), "--destination", str(CHAIN_ID), "--kind", "optimism")
ATTESTED = ("--source", str(SOURCE), "--destination", str(CHAIN_ID), "--kind", "attested")
GAMES = SIGNERS[2].address
OUTPUT = (*OPTIMISM[:5], "output", "--anchor-state-registry", GAMES)
TWO = ",".join(signer.address for signer in reversed(SIGNERS[:2]))


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as one:
        one.rpc.ask("anvil_mine", hex(3))
        yield one


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path, node: LocalNode) -> Iterator[LocalSetup]:
    """On a node that has no registry yet."""
    one = LocalSetup(settings, tmp_path)
    one.add_chain(CHAIN_ID, "Local", [node.url])
    one.add_chain(SOURCE, "Elsewhere", ["http://127.0.0.1:1"])
    with undone(node):
        yield one


def deployed(setup: LocalSetup, printed: str) -> str:
    """The address, once the printed lines are pasted into the routes file."""
    assert f"paid for by {ADDRESS}" in printed
    assert "waiting for a block" in printed
    before, _, lines = printed.partition("[[registries]]")
    assert before.endswith("Add these lines to ROUTES_FILE:\n\n")
    setup.add(f"[[registries]]{lines}")
    (registry,) = read_routes(setup.file).registries.values()
    return registry.address


def has_the_code(node: LocalNode, kind: RegistryKind, address: str) -> bool:
    return is_as_built(kind, bytes.fromhex(node.rpc.ask("eth_getCode", address, "latest")[2:]))


def test_a_native_registry_is_deployed(setup: LocalSetup, node: LocalNode) -> None:
    address = deployed(setup, setup.run("deploy_registry", *NATIVE))
    assert has_the_code(node, RegistryKind.NATIVE, address)
    assert node.call(address, call_data("accumulated(uint256)", 1)) == bytes(32)


def test_an_optimism_registry_is_deployed_where_the_predeploy_is(
    setup: LocalSetup, node: LocalNode
) -> None:
    said = setup.run("deploy_registry", *OPTIMISM)
    assert "FAILED: Local has no L1Block contract at 0x4200000000000000000000000000" in said
    put_predeploy(node)
    address = deployed(setup, setup.run("deploy_registry", *OPTIMISM))
    assert has_the_code(node, RegistryKind.OPTIMISM, address)


def test_an_attested_registry_has_its_signers(setup: LocalSetup, node: LocalNode) -> None:
    """In whatever order they are given."""
    printed = setup.run("deploy_registry", *ATTESTED, "--signers", TWO, "--threshold", "2")
    address = deployed(setup, printed)
    assert has_the_code(node, RegistryKind.ATTESTED, address)
    assert node.call(address, call_data("sourceChainId()")) == SOURCE.to_bytes(32, "big")
    assert node.call(address, call_data("threshold()")) == (2).to_bytes(32, "big")
    for signer in SIGNERS[:2]:
        assert node.call(address, call_data("isSigner(address)", signer.address))[31] == 1


def test_an_attested_registry_may_end_sooner(setup: LocalSetup, node: LocalNode) -> None:
    options = ("--signers", TWO, "--threshold", "2", "--valid-until", "2027-06-30")
    address = deployed(setup, setup.run("deploy_registry", *ATTESTED, *options))
    until = int.from_bytes(node.call(address, call_data("validUntil()")))
    assert until == datetime(2027, 6, 30, tzinfo=UTC).timestamp()


def test_a_contract_is_no_signer_unless_it_is_a_delegated_account(
    setup: LocalSetup, node: LocalNode
) -> None:
    """Signatures are recovered to an address, so a contract can never have signed."""
    options = (*ATTESTED, "--signers", TWO, "--threshold", "2")
    contract = TWO.partition(",")[0]
    with undone(node):
        node.rpc.ask("anvil_setCode", contract, "0x600160015260206000f3")
        said = setup.run("deploy_registry", *options)
        assert f"FAILED: The signer {contract} is a contract on Local" in said
        node.rpc.ask("anvil_setCode", contract, f"0xef0100{GAMES[2:]}")
        deployed(setup, setup.run("deploy_registry", *options))


def test_a_registry_may_refuse_headers_sooner(setup: LocalSetup, node: LocalNode) -> None:
    """Its lines of the routes file name the horizon, and lead to the same address."""
    printed = setup.run("deploy_registry", *NATIVE, "--horizon", "2030-06-30")
    assert "horizon = 2030-06-30T00:00:00Z" in printed
    address = deployed(setup, printed)
    horizon = int.from_bytes(node.call(address, call_data("HORIZON()")))
    assert horizon == datetime(2030, 6, 30, tzinfo=UTC).timestamp()


def test_an_output_registry_names_the_rollup_s_contract(setup: LocalSetup, node: LocalNode) -> None:
    """The contract must be there, before anything is paid for."""
    said = setup.run("deploy_registry", *OUTPUT)
    assert f"FAILED: {GAMES} on Local is not an AnchorStateRegistry whose games" in said
    games = load_artifact("DisputeGamesStandIn").deployed_bytecode
    node.rpc.ask("anvil_setCode", GAMES, f"0x{games.hex()}")
    address = deployed(setup, setup.run("deploy_registry", *OUTPUT))
    assert has_the_code(node, RegistryKind.OUTPUT, address)
    assert node.call(address, call_data("sourceChainId()")) == SOURCE.to_bytes(32, "big")
    asked = node.call(address, call_data("anchorStateRegistry()"))
    assert asked[12:] == bytes.fromhex(GAMES[2:])


def test_a_registry_that_is_there_already_is_recognised(setup: LocalSetup, node: LocalNode) -> None:
    """Whoever deployed it: the second one needs no key and pays nothing."""
    routes = setup.file.read_text()
    address = deployed(setup, setup.run("deploy_registry", *NATIVE))
    setup.sign_with("")
    head = node.rpc.ask("eth_blockNumber")
    said = "The registry of Local's facts is on Local already, and nothing was sent."
    assert setup.run_apart("deploy_registry", *NATIVE) == (f"{said}\n", "")
    setup.file.write_text(routes)
    progress, lines = setup.run_apart("deploy_registry", *NATIVE)
    assert said in progress
    assert f'address = "{address}"' in lines
    assert node.rpc.ask("eth_blockNumber") == head


def test_each_argument_of_the_constructor_leads_to_another_address() -> None:
    signers = tuple(signer.address for signer in SIGNERS[:3])
    one = Registry(RegistryKind.ATTESTED, SOURCE, CHAIN_ID, signers=signers, threshold=2)
    games = Registry(RegistryKind.OUTPUT, SOURCE, CHAIN_ID, anchor_state_registry=signers[0])
    others = [
        replace(one, source=SOURCE + 1),
        replace(one, threshold=3),
        replace(one, signers=signers[:2]),
        replace(one, valid_until=HORIZON - 1),
        replace(one, horizon=HORIZON - 1),
        games,
        replace(games, source=SOURCE + 1),
        replace(games, anchor_state_registry=signers[1]),
    ]
    addresses = {address_of(each) for each in (one, *others)}
    assert len(addresses) == len(others) + 1
    assert address_of(replace(one, signers=signers[::-1])) == address_of(one)


def test_a_chain_without_the_factory_gets_no_registry(setup: LocalSetup, node: LocalNode) -> None:
    node.rpc.ask("anvil_setCode", FACTORY, "0x")
    said = setup.run("deploy_registry", *NATIVE)
    assert f"FAILED: Local has no CREATE2 factory at {FACTORY}." in said
    node.rpc.ask("anvil_setCode", FACTORY, "0x00")
    said = setup.run("deploy_registry", *NATIVE)
    assert f"its contract at {FACTORY} is not the CREATE2 factory." in said


def test_its_output_can_be_appended_to_the_routes_file(setup: LocalSetup) -> None:
    """What it does meanwhile is on stderr, and the last line may be one without an end."""
    setup.file.write_text(setup.file.read_text().rstrip())
    progress, lines = setup.run_apart("deploy_registry", *NATIVE)
    assert "Deployed in block" in progress
    with setup.file.open("a") as file:
        file.write(lines)
    (registry,) = read_routes(setup.file).registries.values()
    assert registry.kind is RegistryKind.NATIVE


def test_all_registries_of_the_routes_file_are_deployed(setup: LocalSetup, node: LocalNode) -> None:
    """Except where it names another address than this version's, which is pointed out."""
    assert "FAILED: ROUTES_FILE names no registry." in setup.run("deploy_registry")
    ends = f"source = {CHAIN_ID}", f"destination = {CHAIN_ID}"
    setup.add("[[registries]]", 'kind = "native"', *ends)
    setup.add_registry("optimism", SOURCE, CHAIN_ID, GAMES)
    progress, ending = setup.run_apart("deploy_registry")
    assert ending == "FAILED: Not deployed: 1 of 2."
    assert "Deployed in block" in progress
    native, optimism = (Registry(RegistryKind(kind), 1, 1) for kind in ("native", "optimism"))
    assert "The registry of Elsewhere's facts on Local: its address in this version is " in progress
    assert f" {address_of(optimism)}, but ROUTES_FILE names {GAMES}." in progress
    assert has_the_code(node, RegistryKind.NATIVE, address_of(native))


def test_the_cost_is_shown_before_anything_is_sent(setup: LocalSetup) -> None:
    printed = setup.run("deploy_registry", *NATIVE)
    shown, sent = printed.index("It takes 4,"), printed.index("Sent 0x")
    assert shown < sent
    assert " gwei, and at most 0.0" in printed
    assert "The signer has 10,000 ETH." in printed


def test_a_deployment_may_take_more_gas_than_osakas_cap(
    settings: LazySettings, tmp_path: Path
) -> None:
    """A stand-in for Amsterdam, where each byte of code costs 1,530 gas."""

    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method != "eth_estimateGas":
            return answer
        return {"result": hex(5 * int(answer["result"], 16))}

    with local_node(hardfork="prague") as node, relay(node.url, change) as dear:
        node.rpc.ask("anvil_mine", hex(3))
        setup = LocalSetup(settings, tmp_path)
        setup.add_chain(CHAIN_ID, "Local", [dear], "gas_cap = 30000000", "finality = 0")
        address = deployed(setup, setup.run("deploy_registry", *NATIVE))
        assert has_the_code(node, RegistryKind.NATIVE, address)
        newest = node.rpc.ask("eth_getBlockByNumber", "latest", True)  # noqa: FBT003
        assert int(newest["transactions"][0]["gas"], 16) > 2**24


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--source", "7", *NATIVE[2:]], "the id of a chain in the file (31337, 5)."),
        ([*NATIVE[:2], "--destination", "7", *NATIVE[4:]], "the new registry.destination: it must"),
        (["--source", "5", *NATIVE[2:]], "source and destination are equal for native"),
        ([*NATIVE[:4], "--kind", "optimism"], "source and destination are equal for native"),
        ([*NATIVE, "--threshold", "1"], "the new registry: threshold is unknown; the keys are "),
        ([*OPTIMISM, "--signers", TWO], "the new registry: signers is unknown"),
        ([*ATTESTED], "an attested registry has a list of signers' addresses"),
        ([*ATTESTED, "--signers", TWO, "--threshold", "3"], "must be a whole number from 1 to 2."),
        ([*ATTESTED, "--signers", TWO], "the new registry.threshold: it must be a whole number"),
        (
            [*ATTESTED, "--signers", TWO.lower(), "--threshold", "1"],
            "the new registry.signers: it must be an address with its checksum (EIP-55).",
        ),
        ([*ATTESTED, "--signers", f"{TWO},{TWO}", "--threshold", "1"], "listed twice"),
        ([*NATIVE, "--valid-until", "2027-01-01"], "valid_until is unknown"),
        (
            [*ATTESTED, "--signers", TWO, "--threshold", "1", "--valid-until", "soon"],
            "argument --valid-until: invalid utc_time value: 'soon'",
        ),
        (
            [*ATTESTED, "--signers", TWO, "--threshold", "1", "--valid-until", "2020-01-01"],
            "--valid-until is in the past",
        ),
        ([*OUTPUT[:-2]], "the new registry.anchor_state_registry: it must be an address"),
        ([*NATIVE, *OUTPUT[-2:]], "the new registry: anchor_state_registry is unknown"),
        ([*NATIVE, "--wait", "-1"], "argument --wait: "),
        ([*NATIVE, "--wait", "nan"], "argument --wait: invalid at_least_one value: 'nan'"),
    ],
)
def test_what_cannot_be_is_reported_before_anything_is_sent(
    setup: LocalSetup, node: LocalNode, arguments: list[str], sentence: str
) -> None:
    nonce = node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest")
    printed = setup.run("deploy_registry", *arguments)
    assert printed.startswith("FAILED: ")
    assert sentence in printed
    assert node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest") == nonce


def test_without_a_signer_or_with_a_wrong_one_it_is_reported(setup: LocalSetup) -> None:
    setup.sign_with("")
    assert "FAILED: There is no signer: set SIGNER_KEY" in setup.run("deploy_registry", *NATIVE)
    setup.sign_with("hunter2")
    said = setup.run("deploy_registry", *NATIVE)
    assert said == "FAILED: SIGNER_KEY is not a private key (32 bytes in hex)."


def test_a_chain_whose_contracts_see_other_hashes_gets_no_native_registry(
    setup: LocalSetup, node: LocalNode
) -> None:
    def change(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        asks_for_a_hash = method == "eth_call" and "to" not in params[0]
        return {"result": "0x" + "ab" * 32} if asks_for_a_hash else answer

    nonce = node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest")
    with relay(node.url, change) as address:
        setup.file.write_text("")
        setup.add_chain(CHAIN_ID, "Local", [address])
        said = setup.run("deploy_registry", *NATIVE)
    assert "FAILED: Contracts on Local do not see its own block hashes" in said
    assert node.rpc.ask("eth_getTransactionCount", ADDRESS, "latest") == nonce


# The router


def test_a_router_has_all_registries_of_its_destination(setup: LocalSetup, node: LocalNode) -> None:
    deploying = ("deploy_router", "--destination", str(CHAIN_ID))
    assert f"FAILED: ROUTES_FILE has no registry on chain {CHAIN_ID}." in setup.run(*deploying)
    lines = setup.run_apart("deploy_registry", *ATTESTED, "--signers", TWO, "--threshold", "1")[1]
    setup.add(lines)
    native = address_of(Registry(RegistryKind.NATIVE, CHAIN_ID, CHAIN_ID))
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    assert f"FAILED: There is no contract at {native}, the registry" in setup.run(*deploying)
    setup.run("deploy_registry")
    progress, address = setup.run_apart(*deploying)
    assert f"Deploying a router on Local, paid for by {ADDRESS}" in progress
    registries = read_routes(setup.file).registries
    for source in (SOURCE, CHAIN_ID):
        named = node.call(address.strip(), call_data("registryOf(uint256)", source))
        assert named[12:] == bytes.fromhex(registries[source, CHAIN_ID].address[2:])
    setup.sign_with("")
    progress, again = setup.run_apart(*deploying)
    assert "The router is on Local already, and nothing was sent." in progress
    assert again == address
