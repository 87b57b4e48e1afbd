"""`check_setup` reports each fault of an installation, and nothing else."""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils.timezone import now
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from accounts.models import Account
from explorer.demo.local_node import LocalNode, local_node
from queries.contracts.abi import call_data, load_artifact
from queries.contracts.create2 import (
    FACTORY,
    SALT,
    courier_address,
    courier_init_code,
    verifier_address,
    verifier_init_code,
)
from queries.models import Batch, ChainRecord
from queries.sources import KINDS
from queries.sources.native import NativeRegistry
from queries.sources.reader import HASH_HISTORY, accumulated_slot
from queries.sources.registry import RegistryKind, deployment_calldata, derived_address
from queries.sources.routes import read_routes
from queries.statuses import BatchStatus
from tests.commands import Manage
from tests.queries.attacks.hash_sources import SIGNERS, Games
from tests.queries.attacks.registry_attacks import L1_BLOCK, put_predeploy, set_l1_block
from tests.queries.contracts.live_chain import LiveChain
from tests.queries.management.local_setup import ADDRESS, CHAIN_ID, KEY, LocalSetup
from tests.rigs.deployed_contracts import (
    LOGGING_CODE,
    DeployedContract,
    lower_horizon,
    reverted_at_end,
)
from tests.rigs.faulty_node import RequestLog, refusal, relay
from tests.rigs.forged_code import code_that_stores

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

SOURCE = 900
LENGTH = 10_000
NATIVE = derived_address(NativeRegistry(CHAIN_ID, CHAIN_ID))
Response = dict[str, Any]
COUNTS = ("query_count", "block_count", "source_count", "account_count", "fact_count")


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        # First, because the newest block's header does not include what is written to its state.
        put_predeploy(running)
        running.rpc.ask("anvil_mine", hex(10))
        yield running


@pytest.fixture(scope="module")
def source() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1", "--chain-id", str(SOURCE)) as running:
        running.rpc.ask("anvil_mine", hex(10))
        yield running


@pytest.fixture(scope="module")
def long_chain() -> Iterator[LocalNode]:
    """A chain of `LENGTH` blocks, two seconds apart, with a native registry at `NATIVE`.

    All blocks have the same state, because Anvil is slow to keep so many.
    """
    with local_node(max_states=1) as running:
        running.rpc.ask("anvil_setCode", HASH_HISTORY, "0x")
        deploy_by_factory(running, RegistryKind.NATIVE, CHAIN_ID, is_alone=True)
        running.rpc.ask("anvil_mine", hex(LENGTH - LiveChain(running).newest()), hex(2))
        yield running


@pytest.fixture(scope="module")
def native(node: LocalNode) -> str:
    return deploy_by_factory(node, RegistryKind.NATIVE, CHAIN_ID)


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path) -> LocalSetup:
    return LocalSetup(settings, tmp_path)


@pytest.fixture
def two_chains(setup: LocalSetup, node: LocalNode, source: LocalNode) -> LocalSetup:
    setup.add_chain(CHAIN_ID, "Local", [node.url])
    setup.add_chain(SOURCE, "Elsewhere", [source.url])
    return setup


def deploy_by_factory(
    node: LocalNode, kind: RegistryKind, source: int, *, is_alone: bool = False, **arguments: Any
) -> str:
    registry = KINDS[kind](source, CHAIN_ID, **arguments)
    address = derived_address(registry)
    if node.rpc.ask("eth_getCode", address, "latest") == "0x":
        node.send(FACTORY, deployment_calldata(registry))
        if not is_alone:
            node.send(FACTORY, SALT + verifier_init_code(address))
    if not is_alone and node.rpc.ask("eth_getCode", courier_address(), "latest") == "0x":
        node.send(FACTORY, SALT + courier_init_code())
    return address


def changed_responses(node: LocalNode, method: str, change: Any) -> AbstractContextManager[str]:
    def change_method(called: str, params: list[Any], response: Response) -> Response:
        return change(params, response) if called == method else response

    return relay(node.url, change_method)


def failed_checks(printed: str) -> list[str]:
    """Return the lines that are not ok, after checking that the last line counts them."""
    lines = [line for line in printed.splitlines() if line.startswith(("ok  ", "not ok  "))]
    failed = [line for line in lines if line.startswith("not ok")]
    summary = printed.splitlines()[-1]
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        assert summary == f"FAILED: {len(failed)} of {len(lines)} checks {verb} not ok."
    else:
        assert summary == f"All {len(lines)} checks are ok."
    return failed


def failed_check(setup: LocalSetup) -> str:
    (line,) = failed_checks(setup.run("check_setup"))
    return line


def native_setup(setup: LocalSetup, native: str, *urls: str, option: str = "") -> LocalSetup:
    """A chain with these nodes and its native registry."""
    setup.add_chain(CHAIN_ID, "Local", urls, option)
    setup.add_registry("native", CHAIN_ID, CHAIN_ID, native)
    return setup


def test_a_correct_setup_is_ok(
    two_chains: LocalSetup, node: LocalNode, source: LocalNode, native: str
) -> None:
    optimism = deploy_by_factory(node, RegistryKind.OPTIMISM, SOURCE)
    with reverted_at_end(node):
        set_l1_block(node, 7, LiveChain(source).header(7).hash)
        two_chains.add_registry("native", CHAIN_ID, CHAIN_ID, native)
        two_chains.add_registry("optimism", SOURCE, CHAIN_ID, optimism)
        printed = two_chains.run("check_setup")
    assert failed_checks(printed) == []
    for part in (
        f"signer                                        {ADDRESS}",
        "Local, node 1 ",
        "Local, node 1, proofs                         eth_getProof reaches back to the first",
        "Elsewhere, node 1, proofs ",
        "Elsewhere, node 1, receipts                   receipts reach back to the first block",
        "registry of Local on Local                    its address proves its code; sees 8,191",
        "registry of Elsewhere on Local                its address proves its code; sees Elsewhere",
        f"signer on Local                               {ADDRESS} has ",
    ):
        assert part in printed
    assert "signer on Elsewhere" not in printed


def signer_lines(count: int, threshold: int) -> tuple[str, str]:
    """The lines of a routes file for the first `count` signers."""
    addresses = ", ".join(f'"{signer.address}"' for signer in SIGNERS[:count])
    return f"signers = [{addresses}]", f"threshold = {threshold}"


def deploy_attested(node: LocalNode) -> str:
    signers = tuple(signer.address for signer in SIGNERS[:3])
    return deploy_by_factory(node, RegistryKind.ATTESTED, SOURCE, signers=signers, threshold=2)


def deploy_games(node: LocalNode, chain: int) -> str:
    """Deploy the portal of this chain, with a valid game."""
    games = Games(partial(DeployedContract, node), chain)
    games.settle(games.propose(bytes(32)), valid=True)
    return str(to_checksum_address(games.address))


def deploy_output(node: LocalNode, portal: str) -> str:
    return deploy_by_factory(node, RegistryKind.OUTPUT, SOURCE, portal=portal)


def test_proof_windows_shorter_than_a_dispute_game_are_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode
) -> None:
    portal = deploy_games(node, SOURCE)
    address = deploy_output(node, portal)
    change = with_proof_window(3, LiveChain(source).newest())
    with changed_responses(source, "eth_getProof", change) as pruned:
        setup.add_chain(CHAIN_ID, "Local", [node.url])
        setup.add_chain(SOURCE, "Elsewhere", [pruned])
        line = f'portal = "{portal}"'
        setup.add_registry("output", SOURCE, CHAIN_ID, address, line)
        native = deploy_by_factory(source, RegistryKind.NATIVE, SOURCE)
        setup.add_registry("native", SOURCE, SOURCE, native)
        (failure,) = [line for line in failed_checks(setup.run("check_setup")) if "days" in line]
    assert "Elsewhere, provable on its L1 " in failure
    assert (
        "The rollup's contracts accept a block 7 days after it was made, but the nodes prove only"
        in failure
    )
    assert failure.endswith("Use a node that keeps more state.")


@pytest.mark.parametrize("state", ["blacklisted", "retired"])
def test_an_anchor_game_that_is_not_valid_any_more_is_reported(
    two_chains: LocalSetup, node: LocalNode, state: str
) -> None:
    portal = deploy_games(node, SOURCE)
    game = node.call(portal, call_data("games(uint256)", 0))[12:]
    calls = {"blacklisted": call_data("blacklist(address)", game), "retired": call_data("retire()")}
    node.send(portal, calls[state])
    line = f'portal = "{portal}"'
    two_chains.add_registry("output", SOURCE, CHAIN_ID, deploy_output(node, portal), line)
    failure = failed_check(two_chains)
    assert f"it is {state}. Blocks wait for a newer one." in failure


def test_paused_contracts_of_a_rollup_are_reported(two_chains: LocalSetup, node: LocalNode) -> None:
    portal = deploy_games(node, SOURCE)
    node.send(portal, call_data("setPaused(bool)", True))
    line = f'portal = "{portal}"'
    two_chains.add_registry("output", SOURCE, CHAIN_ID, deploy_output(node, portal), line)
    assert "is paused by its guardian. Blocks wait until it goes on." in failed_check(two_chains)


@pytest.mark.parametrize("case", ["another chain's portal", "no contract", "other arguments"])
def test_an_output_registry_with_a_wrong_portal_is_reported(
    two_chains: LocalSetup, node: LocalNode, case: str
) -> None:
    portal = deploy_games(node, SOURCE)
    address = deploy_output(node, portal)
    in_file = "0x" + "65" * 20 if case == "other arguments" else portal
    line = f'portal = "{in_file}"'
    two_chains.add_registry("output", SOURCE, CHAIN_ID, address, line)
    sentence = {
        "another chain's portal": f"The portal {portal} is of chain {SOURCE + 1}, not {SOURCE}.",
        "no contract": "is not the portal of a chain that a registry can read",
        "other arguments": f'= 2100-01-01T00:00:00Z, portal = "{portal}"). Leave',
    }[case]
    # An upgrade of the rollup's contracts, since the registry was deployed.
    with reverted_at_end(node):
        if case == "another chain's portal":
            node.rpc.ask("anvil_setStorageAt", portal, "0x0", f"0x{SOURCE + 1:064x}")
        if case == "no contract":
            node.rpc.ask("anvil_setCode", portal, "0x")
        assert sentence in failed_check(two_chains)


def deploy_outbox(node: LocalNode, chain: int) -> str:
    rollup = DeployedContract(node, "RollupStandIn", encode(["uint256"], [chain]))
    return str(to_checksum_address(rollup.address))


def test_an_arbitrum_registry_names_the_newest_confirmed_assertion(
    two_chains: LocalSetup, node: LocalNode
) -> None:
    outbox = deploy_outbox(node, SOURCE)
    address = deploy_by_factory(node, RegistryKind.ARBITRUM, SOURCE, outbox=outbox)
    two_chains.add_registry("arbitrum", SOURCE, CHAIN_ID, address, f'outbox = "{outbox}"')
    assert f"asks the outbox {outbox} for confirmed blocks; no assertion" in two_chains.run(
        "check_setup"
    )
    for name in ("create", "confirm"):
        node.send(outbox, call_data(f"{name}(bytes32,bytes32)", bytes(32), bytes([7]) * 32))
    assert "the newest confirmed assertion is 0x" in two_chains.run("check_setup")
    with reverted_at_end(node):
        node.rpc.ask("anvil_setStorageAt", outbox, "0x0", f"0x{SOURCE + 1:064x}")
        sentence = f"The outbox {outbox} is of chain {SOURCE + 1}, not {SOURCE}."
        assert sentence in failed_check(two_chains)


def test_a_registry_whose_constructor_stored_a_fact_is_unverifiable(
    setup: LocalSetup, node: LocalNode
) -> None:
    """Its runtime code is genuine, and its constructor accumulated a block that never existed."""
    genuine = DeployedContract(node, "NativeRegistry").address
    runtime = bytes.fromhex(node.rpc.ask("eth_getCode", genuine, "latest")[2:])
    planted = b"\x66" * 32
    code = code_that_stores({accumulated_slot(7): planted}, runtime)
    forged = DeployedContract(node, "NativeRegistry", bytecode=code)
    assert forged.reads.accumulated(7) == planted
    address = str(to_checksum_address(forged.address))
    line = failed_check(native_setup(setup, address, node.url))
    assert "unverifiable: its code is genuine, but its address does not prove" in line


@pytest.mark.parametrize(("count", "threshold"), [(3, 1), (3, 3), (2, 2)])
def test_signers_that_differ_from_the_registrys_are_reported(
    two_chains: LocalSetup, node: LocalNode, count: int, threshold: int
) -> None:
    lines = signer_lines(count, threshold)
    two_chains.add_registry("attested", SOURCE, CHAIN_ID, deploy_attested(node), *lines)
    failure = failed_check(two_chains)
    made = "(source = 900, horizon = 2100-01-01T00:00:00Z, signers = ["
    assert f"It was made with other arguments {made}" in failure
    assert "threshold = 2, valid_until = 2028-01-01T00:00:00Z). Leave `address` out" in failure
    (registry,) = read_routes(two_chains.file).registries.values()
    expected = derived_address(registry)
    assert expected != registry.address
    assert failure.endswith(f"Leave `address` out, or deploy {expected}.")


# Nodes


def test_an_unreachable_node_is_named_by_its_number(
    setup: LocalSetup, node: LocalNode, native: str, caplog: pytest.LogCaptureFixture
) -> None:
    line = failed_check(native_setup(setup, native, node.url, "http://127.0.0.1:1"))
    assert line.split("  ")[1].strip() == "Local, node 2"
    assert line.endswith(
        "It does not answer (no connection). Check that it runs, and that `nodes` in "
        "ROUTES_FILE has its address."
    )
    assert caplog.messages == []  # no lines of the log between those of the report


def with_age(seconds: int) -> Any:
    def change(_: list[Any], response: Response) -> Response:
        timestamp = int(response["result"]["timestamp"], 16) - seconds
        return {"result": response["result"] | {"timestamp": hex(timestamp)}}

    return change


@pytest.mark.parametrize(("lag", "is_ok"), [(60, True), (61, False)])
def test_a_lagging_node_is_reported(
    setup: LocalSetup, node: LocalNode, native: str, lag: int, *, is_ok: bool
) -> None:
    with changed_responses(node, "eth_getBlockByNumber", with_age(lag)) as lagging:
        native_setup(setup, native, node.url, lagging, option="finality = 0")
        printed = setup.run("check_setup")
    (line,) = (line for line in printed.splitlines() if "Local, node 2  " in line)
    assert line.startswith("ok  " if is_ok else "not ok  ")
    assert ("61 seconds behind another node's" in line) is not is_ok


def test_a_node_of_another_chain_is_reported(
    setup: LocalSetup, node: LocalNode, source: LocalNode, native: str
) -> None:
    line = failed_check(native_setup(setup, native, node.url, source.url))
    assert "Local, node 2 " in line
    assert "It serves another chain. Correct `nodes` in ROUTES_FILE" in line


def test_nodes_with_different_histories_are_reported(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """Both have the chain's id, but different blocks."""
    with changed_responses(node, "", None) as same, local_node("--slots-in-an-epoch", "1") as fork:
        fork.rpc.ask("anvil_mine", hex(10))
        line = failed_check(native_setup(setup, native, node.url, same, fork.url))
    assert "Local, all nodes" in line
    assert "Nodes 1 and 3 have different blocks " in line


def with_proof_window(blocks: int, newest: int) -> Any:
    def change(params: list[Any], response: Response) -> Response:
        if isinstance(params[2], dict):
            return refusal("invalid argument 2", -32602)
        if int(params[2], 16) < newest - blocks:
            return refusal("distance to target block exceeds maximum proof window", -32602)
        return response

    return change


@pytest.mark.parametrize(
    ("window", "sentence"),
    [
        (128, "only final blocks of the last 4 minutes. Contracts know the hashes of 8,191 blocks"),
        (1_500, "only final blocks of the last 50"),
        (9_000, "blocks of the last 5 hours; blocks more than 8,191 back need hops"),
        (50_000, "every block; blocks more than 8,191 back need hops"),
    ],
)
def test_the_provable_blocks_of_a_pruning_node_are_reported(
    setup: LocalSetup, long_chain: LocalNode, window: int, sentence: str
) -> None:
    """A few calls measure the window."""
    calls, prune = RequestLog(), with_proof_window(window, LENGTH)

    def change(method: str, params: list[Any], response: Response) -> Response:
        if method != "eth_getProof":
            return response
        proof = {"result": long_chain.rpc.ask("eth_getProof", *params[:2], "latest")}
        pruned: Response = prune(params, proof)
        return pruned

    with relay(long_chain.url, change, calls) as url:
        printed = native_setup(setup, NATIVE, url, option="finality = 1").run("check_setup")
    (proofs,) = (line for line in printed.splitlines() if "Local, node 1, proofs" in line)
    assert f"Local, provable                               {sentence}" in printed
    if window < LENGTH:
        assert f"reaches back {window:,} blocks" in proofs
    assert calls.methods.count("eth_getProof") <= 2 * 27  # by hash, and then by number


def test_measuring_stops_at_proofs_that_time_out(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    newest = LiveChain(node).newest()

    def change(params: list[Any], response: Response) -> Response:
        if isinstance(params[2], dict):
            return refusal("invalid argument 2", -32602)
        if int(params[2], 16) < newest - 4:
            time.sleep(3)
        return response

    with changed_responses(node, "eth_getProof", change) as slow:
        setup.add("[limits]", "request_timeout = 2.0", "head_timeout = 2.0")
        printed = native_setup(setup, native, slow, option="finality = 3").run("check_setup")
    assert failed_checks(printed) == []
    assert "eth_getProof reaches back 3 blocks, " in printed


@pytest.mark.parametrize(("window", "is_ok"), [(5, False), (6, True)])
def test_a_proof_window_must_reach_back_to_final_blocks(
    setup: LocalSetup, node: LocalNode, native: str, window: int, *, is_ok: bool
) -> None:
    change = with_proof_window(window, LiveChain(node).newest())
    with changed_responses(node, "eth_getProof", change) as pruned:
        native_setup(setup, native, pruned, option="finality = 6")
        failed = failed_checks(setup.run("check_setup"))
    if is_ok:
        assert failed == []
        return
    (line,) = failed
    assert "Local, node 1, proofs" in line
    assert "The newest final block is 6 blocks behind the head, and the node does not prove" in line
    assert "keep proofs only for newer blocks" in line


@pytest.mark.parametrize(
    ("method", "subject"),
    [
        ("eth_getProof", "Local, node 1, proofs"),
        ("eth_estimateGas", "signer on Local"),
        ("eth_maxPriorityFeePerGas", "signer on Local"),
        ("eth_getTransactionCount", "signer on Local"),
        ("eth_call", "registry of Local on Local"),
    ],
)
def test_a_missing_method_is_reported(
    setup: LocalSetup, node: LocalNode, native: str, method: str, subject: str
) -> None:
    def change(*_: object) -> Response:
        return refusal(f"the method {method} does not exist/is not available", -32601)

    with changed_responses(node, method, change) as url:
        line = failed_check(native_setup(setup, native, url))
    assert f"not ok  {subject}" in line
    assert f"do not offer {method}. Name another node in ROUTES_FILE." in line


@pytest.mark.parametrize("fault", ["no deployment", "nothing costs", "too much"])
def test_a_node_that_does_not_show_what_gas_pays_for_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, fault: str
) -> None:
    """Osaka's prices count then, or those in the routes file; `cost` works all the same."""

    def change(params: list[Any], response: Response) -> Response:
        if "to" in params[0]:
            return response
        if fault == "no deployment":
            return refusal("creation is not allowed")
        return {"result": hex(2**80 if fault == "too much" else 10**6)}

    with changed_responses(node, "eth_estimateGas", change) as url:
        printed = native_setup(setup, native, url).run("check_setup")
        assert "There, a new slot costs 22,100" in setup.run("cost", "--gas-price-gwei", "1")
    (hint,) = (line for line in printed.splitlines() if "gas on Local" in line)
    assert hint.startswith("hint ")
    assert "so provers count on this: a new slot costs 22,100, and a byte" in hint
    assert "signer on Local" in printed


def receipts_line(printed: str) -> str:
    (line,) = (line for line in printed.splitlines() if "Local, node 1, receipts" in line)
    return line


@pytest.mark.parametrize("fault", ["another log", "no such method"])
def test_a_node_that_proves_no_events_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, fault: str
) -> None:
    def change(method: str, _: list[Any], response: Response) -> Response:
        if fault == "no such method" and method.endswith(("BlockReceipts", "TransactionReceipt")):
            return refusal(f"the method {method} does not exist/is not available", -32601)
        if method == "eth_getBlockReceipts":
            return {"result": [receipt | {"logs": []} for receipt in response["result"]]}
        return response

    with reverted_at_end(node), relay(node.url, change) as url:
        node.send(None, LOGGING_CODE)
        printed = native_setup(setup, native, url).run("check_setup")
    assert failed_checks(printed) == []
    line = receipts_line(printed)
    assert line.startswith("hint ")
    assert "Events cannot be proven from this node. " in line
    assert "eth_get" in line


@pytest.mark.parametrize("is_offered", [True, False])
def test_a_node_without_bytes_of_a_block_that_needs_them_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, *, is_offered: bool
) -> None:
    methods = "eth_getRawTransactionByHash", "debug_getRawTransaction"

    def change(method: str, params: list[Any], response: Response) -> Response:
        if method in methods and not is_offered:
            return refusal(f"the method {method} does not exist/is not available", -32601)
        if (method, params[1:]) == ("eth_getBlockByHash", [True]):
            for transaction in response["result"]["transactions"]:
                transaction["type"] = "0x6a"
        return response

    with reverted_at_end(node), relay(node.url, change) as url:
        local = native_setup(setup, native, url)
        node.send(None, LOGGING_CODE)
        printed = local.run("check_setup")
    assert failed_checks(printed) == []
    hint = (
        "Transactions cannot be proven from this node. "
        f"The nodes of Local do not offer {' or '.join(methods)}."
    )
    assert (hint in printed) is not is_offered


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        (900, "receipts reach back 0 blocks or more, but not 1,000"),
        (9_000, "receipts reach back 8,191 blocks or more, but not 9,999"),
        (20_000, "receipts reach back to the first block"),
    ],
)
def test_the_receipts_of_a_pruning_node_are_reported(
    setup: LocalSetup, long_chain: LocalNode, kept: int, sentence: str
) -> None:
    def change(params: list[Any], response: Response) -> Response:
        block = long_chain.rpc.ask("eth_getBlockByHash", params[0], False)
        is_pruned = int(block["number"], 16) < LENGTH - kept
        return refusal("pruned history unavailable", 4444) if is_pruned else response

    with changed_responses(long_chain, "eth_getBlockReceipts", change) as url:
        printed = native_setup(setup, NATIVE, url, option="finality = 1").run("check_setup")
    assert receipts_line(printed).startswith("ok  ")
    assert receipts_line(printed).endswith(sentence)


def test_a_state_root_of_another_block_is_reported(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """Some proposed forks put the root of the state before the block into its header."""

    def change(params: list[Any], _: Response) -> Response:
        number = LiveChain(node).newest() - 3
        return {"result": node.rpc.ask("eth_getProof", *params[:2], hex(number))}

    with changed_responses(node, "eth_getProof", change) as url:
        line = failed_check(native_setup(setup, native, url, option="finality = 2"))
    assert "If all nodes report this, a fork has changed the meaning of the state root" in line


# Registries


def test_an_address_without_a_contract_is_reported(setup: LocalSetup, node: LocalNode) -> None:
    address = "0x" + "66" * 20
    line = failed_check(native_setup(setup, address, node.url))
    assert f"There is no contract at {address}. Deploy one with tacitus deploy_regist" in line


def test_a_lowered_horizon_is_reported(setup: LocalSetup, node: LocalNode, native: str) -> None:
    native_setup(setup, native, node.url)
    only = "takes headers until 2100-01-01T00:00:00Z; only that ends its events verifier"
    assert only in setup.run("check_setup")
    with reverted_at_end(node):
        lower_horizon(node, native, 1_900_000_000)
        line = failed_check(setup)
    assert "Accounts cannot be proven from 2030-03-17T17:46:40Z on" in line
    assert "Header fields and events can still be proven, until 2100-01-01T00:00:00Z" in line


@pytest.mark.parametrize("is_deployed", [True, False])
def test_a_missing_events_verifier_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, *, is_deployed: bool
) -> None:
    native_setup(setup, native, node.url, option="free = true")
    with reverted_at_end(node):
        if not is_deployed:
            node.rpc.ask("anvil_setCode", verifier_address(native), "0x")
        printed = setup.run("check_setup")
    assert failed_checks(printed) == []
    hints = [line for line in printed.splitlines() if line.startswith("hint ")]
    sentence = "registry of Local on Local .* Its events verifier .* tacitus deploy_registry."
    matches = [bool(re.search(sentence, hint)) for hint in hints]
    assert matches == ([] if is_deployed else [True])


@pytest.mark.parametrize("has_signer", [True, False])
def test_a_missing_courier_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, *, has_signer: bool
) -> None:
    native_setup(setup, native, node.url, option="free = true")
    if not has_signer:
        setup.sign_with("")
    with reverted_at_end(node):
        node.rpc.ask("anvil_setCode", courier_address(), "0x")
        printed = setup.run("check_setup")
    (hint,) = (line for line in printed.splitlines() if line.startswith("hint "))
    sentence = "courier on Local .* It is missing: .* Deploy one with tacitus deploy_registry."
    assert re.search(sentence, hint)


@pytest.mark.parametrize("other", ["OptimismRegistry", "one byte", "longer"])
def test_code_of_another_version_is_reported(
    setup: LocalSetup, node: LocalNode, other: str
) -> None:
    code = bytearray(load_artifact("NativeRegistry").deployed_bytecode)
    if other == "one byte":
        code[5000] ^= 1
    elif other == "longer":
        code += b"\x00"
    else:
        code = bytearray(load_artifact(other).deployed_bytecode)
    address = "0x" + "65" * 20
    with reverted_at_end(node):
        node.rpc.ask("anvil_setCode", address, f"0x{code.hex()}")
        line = failed_check(native_setup(setup, address, node.url))
    assert "is not this version's native registry" in line


@pytest.mark.parametrize("case", ["no predeploy", "another hash", "a later block"])
def test_another_l1_is_reported(two_chains: LocalSetup, node: LocalNode, case: str) -> None:
    address = deploy_by_factory(node, RegistryKind.OPTIMISM, SOURCE)
    two_chains.add_registry("optimism", SOURCE, CHAIN_ID, address)
    with reverted_at_end(node):
        if case == "no predeploy":
            node.rpc.ask("anvil_setCode", L1_BLOCK, "0x")
            node.rpc.ask("evm_mine")
        else:
            set_l1_block(node, 7 if case == "another hash" else 700, b"\xab" * 32)
        line = failed_check(two_chains)
    sentence = (
        "is not an OP-stack chain" if case == "no predeploy" else "that Local sees is not block"
    )
    assert sentence in line


# The signer, the budget and the file


def test_a_signer_without_funds_is_reported(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    setup.sign_with("11" * 32)
    line = failed_check(native_setup(setup, native, node.url))
    assert "signer on Local" in line
    assert "has 0 ETH, too little for the 170,480 gas of a fact at " in line


def test_the_signers_pending_transactions_are_counted(
    setup: LocalSetup, node: LocalNode, native: str
) -> None:
    """With one pending, a backup must not be restored, nor the signer's key be changed."""
    native_setup(setup, native, node.url)
    with reverted_at_end(node):
        node.rpc.ask("evm_setAutomine", False)
        for _ in range(2):
            node.rpc.ask("eth_sendTransaction", {"from": ADDRESS, "to": ADDRESS})
        assert re.search(
            "signer on Local .* gwei; 2 transactions pending\n", setup.run("check_setup")
        )
        node.rpc.ask("evm_mine")
        node.rpc.ask("evm_setAutomine", True)
        assert "pending" not in setup.run("check_setup")


@pytest.mark.parametrize("option", ["daily_budget = 1", "free = true", ""])
def test_a_chain_without_a_daily_budget_gets_a_hint(
    setup: LocalSetup, node: LocalNode, native: str, option: str
) -> None:
    printed = native_setup(setup, native, node.url, option=option).run("check_setup")
    assert failed_checks(printed) == []
    hints = [line for line in printed.splitlines() if line.startswith("hint ")]
    assert [
        hint.endswith("in a day. Set `daily_budget` if gas costs money.") for hint in hints
    ] == ([] if option else [True])


def test_batches_that_wait_for_a_prover_are_reported(
    setup: LocalSetup, native: str, node: LocalNode
) -> None:
    native_setup(setup, native, node.url)
    Batch.objects.create(
        id="01M8R2DWD4WNBR7RK3SKZ7Y723",
        owner=Account.objects.create(address=ADDRESS),
        destination=CHAIN_ID,
        status=BatchStatus.RECEIVED,
        submitted_at=now(),
        **dict.fromkeys(("fee", "spent"), f"{0:064x}"),
        **dict.fromkeys(COUNTS, 1),
    )
    found = failed_check(setup)
    assert found.endswith("None has run yet, and a batch waits. Start one with tacitus run_prover.")
    poll = ChainRecord.objects.create(chain=CHAIN_ID, polled_at=now() - timedelta(seconds=52))
    silent = "  None has polled for 5[0-9] seconds, and a batch waits."
    assert re.search(silent, failed_check(setup))
    ChainRecord.objects.filter(pk=poll.pk).update(polled_at=now())
    assert failed_checks(setup.run("check_setup")) == []


def test_the_exit_code_is_1_if_a_check_fails(
    manage: Manage, setup: LocalSetup, node: LocalNode, native: str, tmp_path: Path
) -> None:
    """As a process, with the key in a file."""
    (tmp_path / "key").write_text(f"0x{KEY}\n")
    native_setup(setup, native, node.url)
    variables = {"ROUTES_FILE": str(setup.file), "DEVELOPMENT": "1"}
    key = {"SIGNER_KEY_FILE": str(tmp_path / "key")}
    done = manage("check_setup", **variables, **key)
    (line,) = failed_checks(f"{done.stdout}FAILED: {done.stderr}")
    assert line.split("  ")[-1] == "The database is not migrated. Run: tacitus migrate"
    manage("migrate", **variables)
    done = manage("check_setup", **variables, **key)
    assert (done.returncode, done.stderr) == (0, "")
    done = manage("check_setup", **variables)
    assert done.returncode == 1
    assert done.stderr == "1 of 8 checks is not ok.\n"
